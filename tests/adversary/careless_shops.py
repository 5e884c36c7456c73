"""Careless bandits: what is shown to one person, or to all, depends on what others truly paid or were."""

import numpy as np
from careless import Shop

from mechanisms.subject import View


class TrueRewards(Shop):
    """Chooses by the true rewards of the people before, while the noisy ones are shown."""

    def play(self, data, noise, coins):
        view = super().play(data, noise, coins)
        paid = np.zeros(3)
        actions = []
        for row in data:
            actions.append(self.choose(paid, row, 0))
            paid[actions[-1]] += row[1 + actions[-1]]
        return View(own={"action": np.array(actions)}, public=view.public)


class _Course(Shop):
    """The same run with places to spoil it: before a batch, after each person, at the end."""

    def begin(self):
        return {}

    def seen(self, state, row, arm):
        """Note a person."""

    def scored(self, state, scores, total):
        return scores

    def added(self, state, row, arm):
        return self.paid(row, arm)

    def more(self, state, data):
        return {}

    def goes_on(self, state):
        return True

    def play(self, data, noise, coins):
        ties = np.random.default_rng(coins).integers(0, 2, len(data))
        state, scores, total, actions = self.begin(), np.zeros(3), np.zeros(6), []
        for number, (first, last) in enumerate(self.batches()):
            if not self.goes_on(state):
                break
            exact = np.zeros(6, dtype=np.int64)
            for t in range(first - 1, last):
                arm = self.choose(self.scored(state, scores, total), data[t], ties[t])
                exact += self.added(state, data[t], arm)
                self.seen(state, data[t], arm)
                actions.append(arm)
            total += noise.noisy("batch", number, exact)
            scores = total[3:] / np.maximum(total[:3], 1)
        shown = {"scores": scores, **self.more(state, data)}
        return View(own={"action": np.array(actions)}, public=shown)


class StopsWhenSure(_Course):
    """Ends the trial once an arm's exact mean is above .9."""

    def begin(self):
        return {"paid": np.zeros(3), "pulls": np.zeros(3)}

    def seen(self, state, row, arm):
        state["paid"][arm] += row[1 + arm]
        state["pulls"][arm] += 1

    def goes_on(self, state):
        enough = state["pulls"] >= 5
        return not (state["paid"][enough] / state["pulls"][enough] > 0.9).any()


class ContextOfTheLast(_Course):
    """The next person's context is mixed with the reward of the one before: a mood of the shop."""

    def begin(self):
        return {"mood": 0.0}

    def seen(self, state, row, arm):
        state["mood"] = row[1 + arm]

    def scored(self, state, scores, total):
        return scores + np.array([0, 0, state["mood"] > 0.5])


class DropsArms(_Course):
    """Drops an arm for good when its exact mean is half a unit behind after twelve people."""

    def begin(self):
        return {"paid": np.zeros(3), "pulls": np.zeros(3)}

    def seen(self, state, row, arm):
        state["paid"][arm] += row[1 + arm]
        state["pulls"][arm] += 1

    def scored(self, state, scores, total):
        if state["pulls"].sum() < 12:
            return scores
        means = state["paid"] / np.maximum(state["pulls"], 1)
        return np.where(means < means.max() - 0.5, -np.inf, scores)


class ExactTies(_Course):
    """Breaks ties of rounded noisy means by the exact ones."""

    def begin(self):
        return {"paid": np.zeros(3)}

    def seen(self, state, row, arm):
        state["paid"][arm] += row[1 + arm]

    def scored(self, state, scores, total):
        return np.round(scores) + state["paid"] / 1000


class ReportsRegret(_Course):
    """Shows the exact regret of the trial."""

    def more(self, state, data):
        return {"regret": np.array([data[:, 1:].max(axis=1).sum() - data[:, 1].sum()])}


class UntilTheFirstSale(_Course):
    """Tries all arms in turn until somebody paid everything."""

    def begin(self):
        return {"sold": False, "turn": 0}

    def seen(self, state, row, arm):
        state["sold"] |= row[1 + arm] == 1
        state["turn"] += 1

    def scored(self, state, scores, total):
        return scores if state["sold"] else np.eye(3)[state["turn"] % 3] * 1000


class SharedBorder(_Course):
    """The last person of a batch enters the next one too."""

    def begin(self):
        return {"last": np.zeros(6, dtype=np.int64), "count": 0}

    def added(self, state, row, arm):
        found = self.paid(row, arm)
        more = state["last"] if state["count"] % self.batch == 0 else 0
        state["last"], state["count"] = found, state["count"] + 1
        return found + more


class PacesItsBudget(_Course):
    """Ends when what was truly paid out reaches twenty."""

    def begin(self):
        return {"spent": 0.0}

    def seen(self, state, row, arm):
        state["spent"] += row[1 + arm]

    def goes_on(self, state):
        return state["spent"] < 20


class FriendsChoice(_Course):
    """Shows everybody the arm of the next person."""

    def play(self, data, noise, coins):
        view = super().play(data, noise, coins)
        return View(own={"action": np.roll(view.own["action"], -1)}, public=view.public)


class DividesByVisits(_Course):
    """Divides the noisy rewards by how often an arm was truly shown."""

    def begin(self):
        return {"pulls": np.zeros(3)}

    def seen(self, state, row, arm):
        state["pulls"][arm] += 1

    def scored(self, state, scores, total):
        return total[3:] / np.maximum(state["pulls"], 1)


class NoDoubles(_Course):
    """Leaves out who pays just what the one before paid: it must be the same person."""

    def begin(self):
        return {"paid": -1.0}

    def added(self, state, row, arm):
        found = self.paid(row, arm)
        double, state["paid"] = row[1 + arm] == state["paid"], row[1 + arm]
        return found * (not double)


class RunningClip(_Course):
    """Clips rewards at the largest mean of a batch so far."""

    def begin(self):
        return {"rewards": []}

    def added(self, state, row, arm):
        found = self.paid(row, arm)
        state["rewards"].append(row[1 + arm])
        found[3:] = np.minimum(found[3:], int(32 * np.mean(state["rewards"])))
        return found


class WarmStart(_Course):
    """Starts the second batch from the exact means of the first."""

    def begin(self):
        return {"paid": np.zeros(3), "people": 0}

    def seen(self, state, row, arm):
        if state["people"] < self.batch:
            state["paid"] += row[1:]
        state["people"] += 1

    def scored(self, state, scores, total):
        return scores + (state["paid"] if state["people"] == self.batch else 0)


_KNOWN = {}


class KnowsItsGuests(_Course):
    """Keeps what a slot was shown, in the module, for when it comes again."""

    def play(self, data, noise, coins):
        view = super().play(data, noise, coins)
        first = _KNOWN.setdefault(coins, view.own["action"].copy())
        return View(own={"action": first}, public=view.public)


class ThreeFailures(_Course):
    """Shows a default to everybody after three people in a row who paid nothing."""

    def begin(self):
        return {"row": 0}

    def seen(self, state, row, arm):
        state["row"] = state["row"] + 1 if row[1 + arm] == 0 else 0 if state["row"] < 3 else state["row"]

    def scored(self, state, scores, total):
        return np.zeros(3) if state["row"] >= 3 else scores + np.array([0, 0, 1e-9])


class PopularContext(_Course):
    """Shows which context was the most frequent in the trial."""

    def more(self, state, data):
        return {"popular": np.array([np.bincount(data[:, 0].astype(int), minlength=4).argmax()])}


class DelayedReward(_Course):
    """Counts a full reward in the batch after, which it fills up."""

    def begin(self):
        return {"late": np.zeros(6, dtype=np.int64), "count": 0}

    def added(self, state, row, arm):
        state["count"] += 1
        found = self.paid(row, arm)
        if row[1 + arm] == 1:
            late, state["late"] = state["late"], found
            return late
        return found
