(** What is not proved here.  Nothing is assumed but the real numbers of Coq's library and what they rest on.

    A statement from a paper that a theorem of soundness needs, and that nobody has proved in Coq yet, would stand here
    as an axiom; the rule's status would then be "assumed". *)
