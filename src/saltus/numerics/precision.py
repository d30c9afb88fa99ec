"""Double precision: events need it, so every module that touches JAX imports this first."""

import jax

jax.config.update("jax_enable_x64", True)
