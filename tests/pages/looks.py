"""What a page shows, measured: how much of the scene is drawn, and where its bodies are."""

import base64
import io

import numpy as np
from PIL import Image

TWO_FRAMES = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


def drawn_share(page, after=TWO_FRAMES):
    """Share of the scene's pixels that are not empty after a promise, and how many colours they have."""
    text = page.evaluate(f"{after}.then(() => player.space.renderer.domElement.toDataURL())")
    pixels = np.asarray(Image.open(io.BytesIO(base64.b64decode(text.partition(",")[2]))).convert("RGBA"))
    seen = pixels[pixels[..., 3] > 0]
    return len(seen) / pixels[..., 0].size, len(np.unique(seen[:, :3] // 16, axis=0))


def shown_places(page):
    """Places of what moves, back in metres [m]."""
    now = np.array(page.evaluate("[...player.space.parts.find(part => part.now).now].map(Number)")).reshape(-1, 3)
    return now + page.evaluate("player.data.scene.origin")


def in_space(data):
    """Positions of a dataset in space, rows by bodies by 3; those of a chain are (down, outward)."""
    position = data["position"].values
    if data.attrs["kind"] == "chain":
        position = np.stack([position[..., 1], 0 * position[..., 0], -position[..., 0]], axis=-1)
    return position.reshape(len(position), -1, 3)
