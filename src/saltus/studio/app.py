"""What the studio answers: pages and plain data, to whoever has its token and comes from its own page."""

from __future__ import annotations

import math
import secrets
import tempfile
import time
import tomllib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from saltus.errors import MissingExtraError, ScenarioError
from saltus.scenarios import entries, load, toml
from saltus.studio.forms import fields, starts
from saltus.studio.jobs import Job, Jobs
from saltus.studio.many import Many
from saltus.studio.page import page

LARGEST = 2_000_000  # bytes of a request
TYPES = {
    "nc": "application/x-netcdf",
    "html": "text/html; charset=utf-8",
    "png": "image/png",
    "toml": "text/plain; charset=utf-8",
    "py": "text/plain; charset=utf-8",
}


class Studio:
    """The studio without its server.

    Args:
        first: A TOML file or a name of the catalogue that is opened first.
    """

    def __init__(self, first: str | None = None):
        self.token = secrets.token_urlsafe(24)
        self.jobs = Jobs()
        self.first = load(first) if first else None
        self.seen = time.monotonic()
        routes = [
            Route("/", self._guard(self._page)),
            Route("/catalogue", self._guard(self._catalogue)),
            Route("/picture/{name}", self._guard(self._picture)),
            Route("/scenario", self._guard(self._scenario)),
            Route("/scenario/{name}", self._guard(self._named)),
            Route("/form", self._guard(self._form), methods=["POST"]),
            Route("/run", self._guard(self._run), methods=["POST"]),
            Route("/run/{number:int}", self._guard(self._state)),
            Route("/run/{number:int}/stop", self._guard(self._stop), methods=["POST"]),
            Route("/run/{number:int}/document", self._guard(self._document)),
            Route("/run/{number:int}/file.{ending}", self._guard(self._file)),
            Route("/many", self._guard(self._many), methods=["POST"]),
            Route("/many/{number:int}", self._guard(self._many_state)),
            Route("/many/{number:int}/stop", self._guard(self._many_stop), methods=["POST"]),
            Route("/many/{number:int}/sample/{sample:int}", self._guard(self._many_sample)),
            Route("/many/{number:int}/page.html", self._guard(self._many_page)),
        ]
        self.application = Starlette(routes=routes)

    def _guard(self, answer: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
        """Refuse requests without the token, for another host, or from the page of another."""

        async def guarded(request: Request) -> Response:
            host = request.headers.get("host", "")
            if host.rpartition(":")[0] not in ("127.0.0.1", "localhost"):
                return PlainTextResponse("This studio answers on this machine alone.", 403)
            origin = request.headers.get("origin")
            if origin is not None and origin != f"http://{host}":
                return PlainTextResponse("Requests from other pages are refused.", 403)
            given = request.headers.get("x-saltus-token") or request.query_params.get("token") or ""
            if not secrets.compare_digest(given.encode(), self.token.encode()):
                return PlainTextResponse(
                    "The token is missing or wrong. Open the address that `saltus studio` prints.", 403
                )
            if int(request.headers.get("content-length") or 0) > LARGEST:
                return PlainTextResponse("The request is too large.", 413)
            self.seen = time.monotonic()
            try:
                return await answer(request)
            except (ScenarioError, MissingExtraError) as problem:
                return JSONResponse({"error": str(problem)}, 422)

        return guarded

    async def _page(self, request: Request) -> Response:
        return HTMLResponse(page(self.token), headers={"referrer-policy": "no-referrer", "cache-control": "no-store"})

    async def _catalogue(self, request: Request) -> Response:
        found = [
            {
                "name": one.name,
                "kind": one.kind,
                "description": one.description,
                "picture": _picture(one.name) is not None,
            }
            for one in entries().values()
        ]
        return JSONResponse(found)

    async def _picture(self, request: Request) -> Response:
        path = _picture(request.path_params["name"])
        return Response(path.read_bytes(), media_type="image/webp") if path else PlainTextResponse("none", 404)

    async def _scenario(self, request: Request) -> Response:
        return JSONResponse(None if self.first is None else _as_form(self.first.name, tomllib.loads(self.first.text)))

    async def _named(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in entries():
            raise ScenarioError(f"There is no scenario {name!r} in the catalogue.")
        return JSONResponse(_as_form(name, tomllib.loads(load(name).text)))

    async def _form(self, request: Request) -> Response:
        """The fields of a scenario that was written as text, or changed in the scene."""
        given = await _json(request)
        if isinstance(given.get("data"), dict):
            return JSONResponse(_as_form(str(given.get("name", "mine")), infinite(given["data"])))
        try:
            data = tomllib.loads(str(given.get("text", "")))
        except tomllib.TOMLDecodeError as problem:
            raise ScenarioError(f"This is not TOML: {problem}.") from None
        return JSONResponse(_as_form(str(given.get("name", "mine")), data))

    async def _run(self, request: Request) -> Response:
        given = await _json(request)
        data = given.get("data")
        if not isinstance(data, dict):
            raise ScenarioError("A run needs the data of a scenario.")
        return JSONResponse(self.jobs.start(str(given.get("name", "mine")), infinite(data)).describe())

    def _job(self, request: Request) -> Job:
        number = request.path_params["number"]
        if number not in self.jobs.all:
            raise ScenarioError(f"There is no run {number}; only the last ones are kept.")
        return self.jobs.all[number]

    async def _state(self, request: Request) -> Response:
        return JSONResponse(self._job(request).describe())

    async def _stop(self, request: Request) -> Response:
        self._job(request).stop = True
        return JSONResponse({})

    def _finish(self, request: Request) -> Job:
        job = self._job(request)
        job.result()
        return job

    async def _document(self, request: Request) -> Response:
        from saltus.views.pages import document

        job = self._finish(request)
        return JSONResponse(await run_in_threadpool(document, job.result()))

    async def _file(self, request: Request) -> Response:
        ending = request.path_params["ending"]
        job = self._job(request) if ending in ("toml", "py") else self._finish(request)
        if ending not in TYPES:
            raise ScenarioError(f"Files end in {', '.join(TYPES)}, got {ending!r}.")
        content = await run_in_threadpool(file_of, job, ending)
        name = "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in job.name)
        disposition = {"content-disposition": f'attachment; filename="{name}-{job.number}.{ending}"'}
        return Response(content, media_type=TYPES[ending], headers=disposition)

    async def _many(self, request: Request) -> Response:
        """Start an ensemble of a scenario."""
        given = await _json(request)
        if not isinstance(given.get("data"), dict):
            raise ScenarioError("An ensemble needs the data of a scenario.")
        return JSONResponse(self.jobs.start_many(str(given.get("name", "mine")), infinite(given["data"])).describe())

    def _ensemble(self, request: Request) -> Many:
        number = request.path_params["number"]
        if number not in self.jobs.many:
            raise ScenarioError(f"There is no ensemble {number}.")
        return self.jobs.many[number]

    async def _many_state(self, request: Request) -> Response:
        return JSONResponse(finite(await run_in_threadpool(self._ensemble(request).describe, True)))

    async def _many_stop(self, request: Request) -> Response:
        self._ensemble(request).stop = True
        return JSONResponse({})

    async def _many_sample(self, request: Request) -> Response:
        many, number = self._ensemble(request), request.path_params["sample"]
        return JSONResponse(_as_form(f"{many.name} sample {number}", many.sample(number)))

    async def _many_page(self, request: Request) -> Response:
        content = await run_in_threadpool(self._ensemble(request).page)
        disposition = {"content-disposition": 'attachment; filename="ensemble.html"'}
        return Response(content.encode(), media_type=TYPES["html"], headers=disposition)


def _as_form(name: str, data: dict[str, Any]) -> dict[str, Any]:
    made = {"name": name, "data": data, "text": toml.dumps(data), "fields": fields(data), "starts": starts(data)}
    return finite(made)


def finite(value: Any) -> Any:
    """Plain data that JSON can carry: infinity as a word."""
    if isinstance(value, dict):
        return {name: finite(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [finite(inner) for inner in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def infinite(value: Any) -> Any:
    """Plain data that came by JSON: words for infinity as numbers."""
    if isinstance(value, dict):
        return {name: infinite(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [infinite(inner) for inner in value]
    return float(value) if isinstance(value, str) and value in ("inf", "-inf", "nan") else value


async def _json(request: Request) -> dict[str, Any]:
    try:
        given = await request.json()
    except ValueError:
        raise ScenarioError("The request is not JSON.") from None
    if not isinstance(given, dict):
        raise ScenarioError("The request is not a table.")
    return given


def _picture(name: str) -> Path | None:
    """The small picture of a catalogue entry, where there is one."""
    path = Path(__file__).parent / "pictures" / f"{name}.webp"
    return path if name in entries() and path.is_file() else None


def python_of(job: Job) -> str:
    """The same run as a few lines of Python."""
    quoted = job.text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return (
        f'import saltus as sl\n\nscenario = sl.scenarios.loads("""\n{quoted}""")\n'
        "run = scenario.simulate()\nprint(run.outcome, run.events)\n"
        "data = run.to_dataset(times=scenario.solve.samples)   # xarray, with units\n"
        f'run.to_html("{job.name}.html")\n'
    )


def file_of(job: Job, ending: str) -> bytes:
    """The result of a run as the content of a file."""
    from saltus import io, views

    if ending == "toml":
        return job.text.encode()
    if ending == "py":
        return python_of(job).encode()
    if ending == "html":
        return views.page(job.result()).encode()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"run.{ending}"
        (io.write if ending == "nc" else views.save_figure)(job.result(), path)
        return path.read_bytes()
