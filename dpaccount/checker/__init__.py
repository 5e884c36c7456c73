"""Re-check certificates and derivations without trusting the program that wrote them.

Standard library only, and nothing of the rest of the package: this folder can be copied to another
machine, run as it is (`__main__`), and read at a sitting; ``--rules`` lists what to read.  Every step of
a derivation is inferred again from its premises and witness; every inequality is decided again with
decimals rounded outward and exact integers.  What is not decided is refused.

What a valid certificate says: IF the code behaves as the listed hypotheses say, THEN the guarantee
holds.  The evidence for the hypotheses is recorded in the certificate, and can be run again.
"""

from .documents import Rejected as Rejected
from .documents import Unreadable as Unreadable
from .documents import digest as digest
from .documents import plain as plain
