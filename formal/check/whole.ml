(** Integers of any size, under a name that the extracted program does not use. *)
include Z
