(** Every step of a derivation, by whatever rule, gives only what holds: the theorems of all rules together. *)
Require Import String.
From DP Require Import Steps.
From DP.core Require Import Sound.
From DP.hypotheses Require Proofs Covers.
From DP.sensitivity Require Sums Moves Proofs Streams Factorised Once Stacks Buffered.
From DP.noise Require Grids Lattices Gaussian Proofs Choices Flips Norms Sparse Tables Shuffled Histograms.
From DP.composition Require Views Nodes Compose Spread Mixture Partition.
From DP.conversions Require Approximate Measures Gaussians Departures Families Relations Persons.
From DP.refutations Require Tells Proofs.

Theorem every_step_sound (s : step) : sound s.
Proof.
  destruct s; first
    [ solve [apply DP.hypotheses.Proofs.assume_view_sound; reflexivity]
    | solve [apply DP.hypotheses.Proofs.assume_ball_sound; reflexivity]
    | solve [apply DP.hypotheses.Proofs.assume_rank_one_sound; reflexivity]
    | solve [apply DP.hypotheses.Proofs.assume_points_sound; reflexivity]
    | solve [apply DP.hypotheses.Proofs.assume_clipped_sound; reflexivity]
    | solve [apply DP.hypotheses.Proofs.assume_cell_sound; reflexivity]
    | solve [apply DP.hypotheses.Proofs.assume_lipschitz_sound; reflexivity]
    | solve [apply DP.hypotheses.Covers.assume_covers_sound; reflexivity]
    | solve [apply DP.hypotheses.Covers.assume_tree_sound; reflexivity]
    | solve [apply DP.hypotheses.Proofs.assume_rounds_sound; reflexivity]
    | solve [apply DP.hypotheses.Proofs.assume_numbers_sound; reflexivity]
    | solve [apply DP.hypotheses.Proofs.assume_range_sound; reflexivity]
    | solve [apply DP.hypotheses.Proofs.assume_each_sound; reflexivity]
    | solve [apply DP.hypotheses.Proofs.assume_l1_sound; reflexivity]
    | solve [apply DP.hypotheses.Proofs.assume_choice_sound; reflexivity]
    | solve [apply DP.hypotheses.Proofs.assume_split_sound; reflexivity]
    | solve [apply DP.hypotheses.Proofs.assume_persons_sound; reflexivity]
    | solve [apply DP.hypotheses.Proofs.assume_rare_sound; reflexivity]
    | solve [apply DP.hypotheses.Proofs.assume_filter_sound; reflexivity]
    | solve [apply DP.hypotheses.Proofs.assume_neighbours_sound; reflexivity]
    | solve [apply DP.hypotheses.Proofs.assume_event_sound; reflexivity]
    | solve [apply DP.sensitivity.Sums.linear_sound; reflexivity]
    | solve [apply DP.sensitivity.Moves.differences_sound; reflexivity]
    | solve [apply DP.sensitivity.Proofs.moved_sound; reflexivity]
    | solve [apply DP.sensitivity.Streams.centred_sound; reflexivity]
    | solve [apply DP.sensitivity.Factorised.factorised_sound; reflexivity]
    | solve [apply DP.sensitivity.Once.stream_l1_sound; reflexivity]
    | solve [apply DP.sensitivity.Stacks.joint_sound; reflexivity]
    | solve [apply DP.sensitivity.Buffered.buffered_sound; reflexivity]
    | solve [apply DP.noise.Grids.fine_gaussian_sound; reflexivity]
    | solve [apply DP.noise.Lattices.lattice_gaussian_sound; reflexivity]
    | solve [apply DP.noise.Gaussian.discrete_gaussian_sound; reflexivity]
    | solve [apply DP.noise.Gaussian.gaussian_sound; reflexivity]
    | solve [apply DP.noise.Proofs.laplace_sound; reflexivity]
    | solve [apply DP.noise.Choices.exponential_sound; reflexivity]
    | solve [apply DP.noise.Flips.permute_and_flip_sound; reflexivity]
    | solve [apply DP.noise.Norms.k_norm_sound; reflexivity]
    | solve [apply DP.noise.Sparse.sparse_vector_sound; reflexivity]
    | solve [apply DP.noise.Tables.finite_sound; reflexivity]
    | solve [apply DP.noise.Shuffled.shuffled_sound; reflexivity]
    | solve [apply DP.noise.Histograms.stable_histogram_sound; reflexivity]
    | solve [apply DP.composition.Views.post_process_sound; reflexivity]
    | solve [apply DP.composition.Views.billboard_sound; reflexivity]
    | solve [apply DP.composition.Views.local_view_sound; reflexivity]
    | solve [apply DP.composition.Nodes.nodes_sound; reflexivity]
    | solve [apply DP.composition.Nodes.local_sound; reflexivity]
    | solve [apply DP.composition.Compose.compose_sound; reflexivity]
    | solve [apply DP.composition.Spread.parallel_sound; reflexivity]
    | solve [apply DP.composition.Mixture.mixture_sound; reflexivity]
    | solve [apply DP.composition.Partition.partition_sound; reflexivity]
    | solve [apply DP.conversions.Approximate.to_approximate_sound; reflexivity]
    | solve [apply DP.conversions.Measures.to_zcdp_sound; reflexivity]
    | solve [apply DP.conversions.Measures.to_pure_sound; reflexivity]
    | solve [apply DP.conversions.Gaussians.to_gdp_sound; reflexivity]
    | solve [apply DP.conversions.Measures.to_near_gdp_sound; reflexivity]
    | solve [apply DP.conversions.Measures.to_renyi_sound; reflexivity]
    | solve [apply DP.conversions.Departures.despite_sound; reflexivity]
    | solve [apply DP.conversions.Families.group_sound; reflexivity]
    | solve [apply DP.conversions.Relations.within_sound; reflexivity]
    | solve [apply DP.conversions.Persons.persons_sound; reflexivity]
    | solve [apply DP.conversions.Relations.replace_one_sound; reflexivity]
    | solve [apply DP.refutations.Tells.apart_sound; reflexivity]
    | solve [apply DP.refutations.Proofs.refute_sound; reflexivity] ].
Qed.
