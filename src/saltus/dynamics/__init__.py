"""Long-time dynamics through events: Lyapunov spectra, sections, periodic orbits, bifurcation diagrams, basins."""

from saltus.dynamics.lyapunov import Spectrum, lyapunov
from saltus.dynamics.maps import Diagram, basins, bifurcation
from saltus.dynamics.orbits import Orbit, periodic_orbit
from saltus.dynamics.sections import section

__all__ = ["Diagram", "Orbit", "Spectrum", "basins", "bifurcation", "lyapunov", "periodic_orbit", "section"]
