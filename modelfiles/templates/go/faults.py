"""Why a function of a template failed, before it is known where in the template that was."""


class Fault(Exception):
    """Go's words for it. Never leaves the interpreter."""
