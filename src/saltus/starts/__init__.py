"""Starts of motion by NumPy alone: what must hold of them, and what is known of them before anything is compiled.

Systems check their starts by the same functions. What is not certain here, they find out when they are built.
"""
