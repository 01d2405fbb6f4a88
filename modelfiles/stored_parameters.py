"""Parameters on their way into the store: merged, checked, and held against the model that they are for.

Ollama's own parameters are stored as they come, as Ollama does; a wrong type is found when the model is
used. Ours are checked here, because only here the model is known. Pure. Raises CreateError.
"""

from collections.abc import Mapping

from modelfiles.errors import CreateError, ParameterError
from modelfiles.gguf import GGUF, ArrayInfo
from modelfiles.parameters import PARAMETERS, Parameter
from modelfiles.replies.choice import check_parsers

_EXPERTS, _EXPERTS_USED = "num_experts", "num_experts_used"
_KINDS: Mapping[str, tuple[type, ...]] = {
    "bool": (bool,),
    "float": (int, float),
    "int": (int,),
    "object": (dict,),
    "string": (str,),
    "strings": (list,),
}


def checked_parameters(parameters: Mapping[str, object]) -> dict[str, object]:
    """The parameters of a request: aliases under their true names, ours with values of the right kind.

    A null means that the parameter is not given.
    """
    checked: dict[str, object] = {}
    for name, value in parameters.items():
        parameter = PARAMETERS.get(name)
        if value is None:
            continue
        if parameter is None or parameter.ollama:
            checked[name] = value
        else:
            checked[parameter.alias_of or name] = _checked(parameter, value)
    try:
        check_parsers(checked)
    except ParameterError as error:
        raise CreateError(str(error)) from error
    return checked


def fitted_parameters(
    parameters: Mapping[str, object], gguf: GGUF
) -> tuple[dict[str, object], tuple[str, ...]]:
    """What is stored for this model, and what there is to warn of.

    Raises CreateError where the model cannot do what is asked.
    """
    fitted, warnings = dict(parameters), []
    asserted, used = fitted.get(_EXPERTS), fitted.get(_EXPERTS_USED)
    if asserted is not None and asserted != gguf.count("expert_count"):
        del fitted[_EXPERTS]
        warnings.append(f"{_EXPERTS} is {asserted!r}, but {_truth(gguf)}; it is not stored")
    if used is not None:
        fault = experts_used_fault(used, gguf)
        if fault:
            raise CreateError(f"{_EXPERTS_USED} {used!r} cannot be used: {fault}")
    return fitted, tuple(warnings)


def experts_used_fault(used: object, gguf: GGUF) -> str:
    """Why this number of experts cannot run on this model; empty if it can."""
    experts = gguf.count("expert_count")
    if experts == 0:
        return "the model is dense, it has no experts to choose from"
    if isinstance(gguf.of_architecture("expert_used_count"), tuple | ArrayInfo):
        return "the model has a number of its own for each layer, which one number cannot replace"
    if not isinstance(used, int) or isinstance(used, bool) or not 1 <= used <= experts:
        return f"it must be a whole number between 1 and {experts}, the number of experts of the model"
    return ""


def _truth(gguf: GGUF) -> str:
    experts = gguf.count("expert_count")
    return f"the model has {experts} experts" if experts else "the model is dense: it has no experts"


def _checked(parameter: Parameter, value: object) -> object:
    if isinstance(value, float) and value.is_integer() and parameter.type == "int":
        value = int(value)
    right = isinstance(value, _KINDS[parameter.type]) and (
        not isinstance(value, bool) or parameter.type == "bool"
    )
    if not right:
        raise CreateError(f'parameter "{parameter.name}" must be of type {parameter.type}, not {value!r:.80}')
    if parameter.minimum is not None and isinstance(value, int) and value < parameter.minimum:
        raise CreateError(f'parameter "{parameter.name}" must be at least {parameter.minimum}, not {value}')
    if parameter.choices:
        value = str(value).lower()
        if value not in parameter.choices:
            choices = ", ".join(parameter.choices)
            raise CreateError(f'parameter "{parameter.name}" must be one of {choices}, not {value!r:.80}')
    return value
