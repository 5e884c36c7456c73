"""Bandit with a few public arms: blocks of people play one arm each, and release one noisy number.

A block's arm is the best of a draw from the posterior (Thompson 1933), whose spread fades over the
rounds.  The sum of y − ½ over its people is released with noise.  Who is in which block, which arm it plays
and when it ends follow from earlier releases and public coins, never from answers.  An answer that is late
enters the next block of the same arm.  So along every history a person's number is in one sum at most:
replacing it takes at most ½ from one sum and adds ½ to one, and Laplace noise of scale 1/ε is pure ε for
the whole run, all arms and sums included.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from bandits.arms.design import ArmDesign
from bandits.arms.sums import Block
from bandits.learning.arrivals import Actions, paid, replay
from bandits.statistics.arrays import Floats
from dpaccount.errors import InputError
from dpaccount.noise.receipt import Noise
from mechanisms.shared import accuracy
from mechanisms.subject import Rows, View

if TYPE_CHECKING:
    from bandits.arms.course import ArmCourse


@dataclass(frozen=True)
class ArmPhases(ArmDesign):
    """Show one of `arms` to each of `rounds` people; a row is what each arm would pay, in [0, 1].

    `law` is the noise of a block's sum: "laplace" of scale 1/`epsilon`, pure, or "gaussian" of
    deviation `sigma` (left out, the least that is proved to meet (`epsilon`, `delta`)).  A block
    has `block` people at least, and no more than half of those that its arm has had, where that is more and
    arms are "apart".
    With `delays` a record ends with a number more: how many people ask before this one answers, `rounds`
    or NaN for never.  In a session that is seen as it happens; the proof is the same.
    With `counts`, a share of ε, the number of answers of every arm is released at the end, with Laplace
    noise: means are then those of people who answer, where without it silence counts as ½.
    With "shuffled", everybody's device sends one private bit (`bits.message`), and a shuffler, who alone
    sees whose it is, shows a block's bits in no order; (`epsilon`, `delta`) is what these cost.  A session
    takes the bits of a block as they are shown; `play` simulates devices and shuffler by its noise.
    With a `space`, its points are the arms; a "linear" `belief` learns a constant and a linear function
    of their coordinates, or of the features of a kernel matrix, in place of every arm's mean apart; a "mixed"
    one weighs by the released sums whether means are linear, smooth, rough or unrelated over the points.
    `index` says how a block's arm is chosen: by a draw from the posterior (Thompson 1933), or as the
    least of N(m* − m)²/2v + ln N, m the arm's posterior mean, m* the largest and N = v/(posterior
    variance) the rewards that it is worth, v a reward's variance (IMED, Honda & Takemura 2015).
    "elimination" plays what is known least of what may be the best, a step to a G-optimal design
    (Wynn 1970), on which Hanna, Girgis, Fragouli & Diggavi 2022 (arXiv 2207.03445) spend whole phases.
    "top-two" looks for the best arm (fixed confidence): an arm worth less than √n/2 rewards of n people
    (Garivier & Kaufmann 2016), or the arm of mean m*, or the one that is hardest to tell from it, whichever
    balances N*² = ΣN² (You, Qin, Wang & Yang 2023).  Once an arm is named with an error of 1 − `level` or
    less, everybody is shown it; with a `level` of 1, all `rounds` are spent on the search (fixed budget).
    "adversarial" is for rewards that follow no law: written down before the run by an adversary, who does not
    know its `coins`.  The expected regret is `against_adversary.regret` at most (`bandits.arms.adversary`).
    With a `memory` (people), older rewards are forgotten, block by block: for arms whose
    means change.  Privacy costs the same for any `rounds`, which "thompson" and "adversarial" read.
    """

    source: ClassVar[str] = "ours; Thompson 1933 on disjoint blocks, Dwork et al. 2006 (noise)"

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Serve every person once, in order; everyone sees arms and sums."""

        def sent(first: int, chosen: list[Actions]) -> Floats:
            rewards = told(first, chosen)
            return self.bits.sent(noise, "block", len(course.sums), rewards, tosses).astype(np.float64)

        # tosses round rewards to bits, apart from a rehearsal's noise
        told, course, tosses = paid(data), self.course(noise, coins), np.random.default_rng((coins, 17))
        delays = data[:, -1].astype(np.int64) if self.delays else None
        return replay(course, None, sent if self.law == "shuffled" else told, delays)

    def course(self, noise: Noise, coins: int) -> "ArmCourse":
        """Return a run for people who come one by one."""
        from bandits.arms.course import ArmCourse

        return ArmCourse(self, noise, coins)

    # -------------------------------------------------------------- what the sums say

    def accuracy(self, view: View, level: Fraction = Fraction(19, 20)) -> dict[str, object]:
        """Return intervals of the arms' mean rewards, all of which hold with probability `level`.

        Of rewards clipped to [0, 1] that have one mean an arm and are independent of the past, given the arm
        and what is on offer.  Who has not answered when the run ends counts with ½, which is right where such
        people have one mean too; or with `counts` not at all, if silence and lateness do not depend on the
        reward; nor does who was shown another arm than their block's.  They hold although arms are chosen by
        earlier sums, for a run that ends when released numbers say so.  Where late answers count, they are of
        a run that has ended.
        """
        blocks = [*self.released(view)]
        low, high = self.statement.intervals(blocks, level, self._answers(view, blocks))
        of = "the arms' mean rewards" + (", of who answered" if self.counts else ", ½ without an answer")
        return {"means": accuracy.interval(low, high, level, of)}

    def by_arm(self, view: View, level: Fraction = Fraction(19, 20)) -> dict[str, list[Any]]:
        """Return columns for a data frame, with a row for every arm: people, noisy mean and interval.

        `people` is how many people counted.  `mean` is not clipped, and None for an arm without people.
        `low` and `high` are as in `accuracy`.  With `counts`, `answers` is the noisy number of people who
        answered, and means are of those people.
        """
        statement, blocks = self.statement, [*self.released(view)]
        told, (people, _, rest) = self._answers(view, blocks), statement.totals(blocks)
        low, high = statement.intervals(blocks, level, told)
        of, gain = people if told is None else np.round(told[0], 1), statement.gain
        means = [0.5 + part / n / gain if n >= 1 else None for part, n in zip(rest.tolist(), of, strict=True)]
        names = [*map(str, range(self.arms))] if self.space is None else [*self.space.names]
        columns: dict[str, list[Any]] = {
            "arm": names,
            "people": [*map(int, people)],
            "mean": means,
        }
        columns |= {"low": low.tolist(), "high": high.tolist()}
        return columns if told is None else columns | {"answers": of.tolist()}

    def picture(self, view: View, level: Fraction = Fraction(19, 20)) -> str:
        """Return the intervals of all arms' means as SVG, with a dot at each noisy mean in [0, 1]."""
        from audits.reports.pictures import Bar, strips  # late: most runs draw nothing

        bars = [
            Bar(str(arm), low, high, None if mean is None else min(max(mean, 0.0), 1.0))
            for arm, _, mean, low, high, *_ in zip(*self.by_arm(view, level).values(), strict=True)
        ]
        return strips(bars, "mean rewards of all arms, with intervals")

    def report(self, view: View) -> dict[str, object]:
        """Return what an experiment asks: an arm with its error, and all that may be the best.

        With a `memory`, or adversarial rewards, nothing is known, as arms have no one mean, and with `counts`
        intervals alone.  The chance that a wrong arm is named with an error of α or less, at any time, or at
        the end where late answers count, is at most α; means are those of `accuracy`.
        """
        if not self.one_mean or self.counts:
            return {}
        evidence = self.statement.order(self.released(view), at_end=self.takes_late)
        arm, error = evidence.best()
        may_be = evidence.may_be_best(Fraction(1, 20))
        return {"best": arm, "error": error, "may_be_best": may_be}

    def _answers(self, view: View, blocks: list[Block]) -> tuple[Floats, float] | None:
        """Return the noisy number of answers by arm, and the scale of its noise; None without `counts`."""
        if not self.counts:
            return None
        people, *_ = self.statement.totals(blocks)
        # what is released is half of those who answered less those who did not
        return (people + np.asarray(view.public["answers"])) / 2, float(1 / (self.epsilon * self.counts))

    def released(self, view: View) -> Iterator[Block]:
        """Yield of every released sum its arm, the people counted, their noisy rewards, and its noises.

        Shuffled bits stand for the rewards.
        """
        if not self.one_mean:
            right = "leave memory out, and take an index of rewards that have a law"
            raise InputError("with a memory, or adversarial rewards, arms have no one mean", right)
        public = getattr(view, "public", {})
        for name in ("arms", "ends", "sums", "uncounted"):
            if name not in public:
                raise InputError(f"a view has no {name}", "give what `play`, or a session, shows to all")
        played, ends, sums = (public[name].tolist() for name in ("arms", "ends", "sums"))
        if self.takes_late and len(sums) == len(ends):
            raise InputError("answers may still come, and would count", "end the run, and give what it shows")
        late, counted = (self.arms, self.arms * bool(self.counts)) if self.takes_late else (0, 0)
        found = len(sums) - len(ends), len(public.get("answers", ())), max(played, default=0) < self.arms
        if found != (late, counted, True):
            raise InputError("the view is of another bandit", "give one of a run of this one")
        uncounted, before = np.unique(public["uncounted"]), 0
        for last, released in zip(ends, sums, strict=False):  # the block under way has no sum yet
            others = int(np.diff(np.searchsorted(uncounted, (before + 1, last + 1)))[0])
            people = last - before - others
            yield played[before], people, *self.seen(people, last - before, released)
            before = last
        for arm, released in enumerate(sums[len(ends) :]):
            yield arm, 0, *self.seen(0, 0, released)
