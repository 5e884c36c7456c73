"""The table of parameters: how the cost goes with each, and why the number of some is not sought."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from dpaccount.plan.event_base import RANGES


@dataclass(frozen=True)
class Parameter:
    """A key of events, how the cost goes with its number, and which events it calibrates by their names."""

    key: str
    unsought: str = ""  #: why its number cannot be sought
    falls: bool = False  #: a larger number costs less
    events: Mapping[str, bool] = field(default_factory=dict)  #: true where a formula is the cost at any count


#: A key of `RANGES` without a row may be sought, and a larger number of it costs more.
PARAMETER_TABLE = (
    Parameter(
        "sigma",
        falls=True,
        events={"gaussian": True, "discrete_gaussian": False, "tree": True, "matrix_factorisation": True},
    ),
    Parameter("scale", falls=True, events={"laplace": False, "discrete_laplace": False}),
    Parameter(
        "epsilon",
        events={"pure": False, "randomized_response": False, "exponential": True, "permute_and_flip": False},
    ),
    Parameter("eta", events={"bounded_range": True}),
    Parameter("rho", events={"zcdp": True}),
    Parameter("mu", events={"gdp": True}),
    *(Parameter(key, falls=True) for key in ("k", "population", "separation", "steps", "gamma")),
    Parameter("times", "the bound is for whole epochs of steps/times; count may be sought"),
    Parameter("bins", "what more of them cost is not known to be less"),
    Parameter("start", "it says where a stream begins, not how much it costs"),
    Parameter("cover", "it says who pays, not how much"),
    Parameter("points", "an order says where a divergence is taken; the epsilon beside it may be sought"),
    *(Parameter(key, "probabilities add up to 1, so none is free by itself") for key in ("p", "q")),
    Parameter("categories", "a third value may cost more or less than two do; epsilon may be sought"),
    Parameter("weights", "they add up to 1, so none is free by itself"),
    Parameter("shape", "it says which law a number of runs has; gamma may be sought"),
    Parameter("batch", "a truncated sample may cost less where it grows; sigma may be sought"),
    Parameter("parts", "a factor may have as many bands; sigma or rate may be sought"),
    Parameter("rows", "a bound may fall while an entry grows; sigma may be sought"),
    Parameter(
        "coefficients",
        "a bound may fall while a coefficient grows to the next one; the last one may be sought",
    ),
)
PARAMETERS = {**{key: Parameter(key) for key in RANGES}, **{row.key: row for row in PARAMETER_TABLE}}
#: parameters by the events that they calibrate
NAMED = {event: row for row in PARAMETER_TABLE for event in row.events}
CLOSED = {event for event, row in NAMED.items() if row.events[event]}  #: events whose cost is a formula
SOUGHT = [key for key in RANGES if not PARAMETERS[key].unsought]
