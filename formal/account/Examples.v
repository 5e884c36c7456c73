(** Two plans of documents, as they are read. *)
Require Import QArith ZArith String List.
From DP Require Import Facts.
From DP.check Require Import Json.
From DP.account Require Import Kinds Plan Document.
Import ListNotations.
Open Scope string_scope.

Example sampled_plan :
  plan_of (Object [("schema", Text "dpaccount/events/1"); ("relation", Text "add-remove"); ("events", Array [Object
    [("event", Text "poisson_subsampled"); ("rate", Text "256/60000"); ("count", Int 14063);
     ("of", Object [("event", Text "gaussian"); ("sigma", Float "1.1")])]])])
  = Some (Plan AddRemove [Plan.Event (Sampled (8 # 1875) (NormalNoise (100 # 121))) 14063 None]).
Proof. reflexivity. Qed.

Example covered_plan :
  plan_of (Object [("schema", Text "dpaccount/events/1"); ("relation", Text "replace-one"); ("events", Array [Object
    [("event", Text "sequence"); ("cover", Array [Int 1; Int 9]); ("count", Int 3); ("of", Array
      [Object [("event", Text "laplace"); ("scale", Int 4); ("count", Int 2)];
       Object [("event", Text "discrete_laplace"); ("scale", Float "2.5"); ("sensitivity", Int 2)]])]])])
  = Some (Plan ReplaceOne [Plan.Event (LaplaceNoise (1 # 4)) 6 (Some (1, 9)%Z);
                           Plan.Event (GeometricNoise (5 # 2) 2) 3 (Some (1, 9)%Z)]).
Proof. reflexivity. Qed.
