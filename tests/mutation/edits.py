"""The faults: in each a line of the code is replaced by one that is wrong.

Every fault names what would be wrong. `survives` says of one that no test can find why it is none.
"""

from dataclasses import dataclass

LEARNERS = ("golden", "river_margins/rules", "river_margins/families", "river_margins/spaces", "river_margins/tasks")
LEARNERS += (
    "river_margins/preprocessing",
    "river_margins/snapshot",
    "bounds",
    "river_margins/core",
    "reference",
    "river_margins/test_river_contract.py",
    "river_margins/test_class_weights.py",
    "river_margins/networks",
    "river_margins/adaptation",
    "river_margins/test_pipeline.py",
)
COMMIT = ("connectors/topics/test_checkpoint.py", "connectors/topics/test_accidents.py")
COMMIT += (
    "connectors/snapshots/test_retention.py",
    "connectors/topics/test_rereading.py",
    "connectors/topics/test_processor.py",
)
COMMIT += (
    "connectors/topics/test_startup.py",
    "connectors/topics/test_bad_partitions.py",
    "connectors/topics/test_assignment.py",
)

# Where a fault of a file is found soonest.
NEAREST = {
    "river_margins/core/kernels.h": ("river_margins/preprocessing/test_scaler.py", "river_margins/test_pipeline.py"),
    "river_margins/core/experts.pyx": ("river_margins/families/test_auto.py",),
    "river_margins/core/transformed_row.pxd": ("river_margins/test_pipeline.py",),
    "river_margins/core/transformed_row.pyx": ("river_margins/test_pipeline.py",),
    "river_margins/families/auto.py": ("river_margins/families/test_auto.py",),
    "river_margins/families/calibrated.py": ("river_margins/families/test_calibrated.py",),
    "river_margins/pipeline.pyx": ("river_margins/test_pipeline.py",),
    "river_margins/preprocessing/hasher.pyx": ("river_margins/preprocessing", "river_margins/test_pipeline.py"),
    "river_margins/preprocessing/interactions.pyx": ("river_margins/preprocessing/test_interactions.py",),
    "river_margins/preprocessing/scaler.pyx": (
        "river_margins/preprocessing/test_scaler.py",
        "river_margins/test_pipeline.py",
    ),
    "river_margins/preprocessing/words.pyx": ("river_margins/preprocessing/test_words.py",),
    "river_margins/rules/gaussian.pyx": ("golden", "river_margins/rules/test_gaussian_problems.py"),
    "river_margins/spaces/averaged.pyx": ("golden", "river_margins/spaces/test_forgetting.py"),
    "river_margins/spaces/budgets.pyx": ("bounds/test_shifting_budgets.py", "river_margins/spaces/test_kernels.py"),
    "river_margins/spaces/diagonal.pyx": ("river_margins/spaces/test_forgetting.py",),
    "river_margins/spaces/full.pyx": ("river_margins/spaces/test_forgetting.py",),
    "river_margins/spaces/gaussian.pyx": ("river_margins/spaces/test_forgetting.py",),
}


@dataclass(frozen=True)
class Edit:
    """What is wrong, and the text to replace, which occurs once in the file."""

    fault: str
    file: str
    old: str
    new: str
    survives: str = ""

    @property
    def tests(self) -> tuple[str, ...]:
        """The tests that may find it: the nearest first, then the quickest."""
        for room in ("river_margins/concepts", "river_margins/version_space"):
            if self.file.startswith(room):
                return (room,)
        if not self.file.startswith("river_margins/"):
            return COMMIT
        return tuple(dict.fromkeys([*NEAREST.get(self.file, ()), *LEARNERS]))


def _edits(file: str, *changes: tuple[str, str, str]) -> list[Edit]:
    return [Edit(fault, file, old, new) for fault, old, new in changes]


EDITS = [
    *_edits(
        "river_margins/rules/base.pxd",
        ("a margin of 0 is not a mistake", "return seen.margin <= 0.0 if ties", "return seen.margin < 0.0 if ties"),
        ("without ties every round is a mistake", "if ties else seen.wrong", "if ties else True"),
        ("a scale alone moves nothing", "step.step != 0.0 or step.scale != 1.0", "step.step != 0.0 or step.scale > 1.0"),
        ("an inflation alone is dropped", "step.shrink != 0.0 or step.inflate != 1.0", "step.shrink != 0.0"),
    ),
    *_edits(
        "river_margins/rules/perceptron.pyx",
        ("a margin that is just reached is enough", "seen.margin <= self.margin else", "seen.margin < self.margin else"),
        ("lr is ignored", "self.lr * seen.weight if is_", "seen.weight if is_"),
        ("the sample weight is ignored", "self.lr * seen.weight if is_", "self.lr if is_"),
        ("an aggressive rule moves on mistakes only", "self.aggressive and seen.margin < 1.0", "self.aggressive and False"),
    ),
    *_edits(
        "river_margins/rules/passive_aggressive.pyx",
        ("PA is not exact", "out.step = hinge(seen) / seen.gain if", "out.step = hinge(seen) / (1.0 + seen.gain) if"),
        ("PA-I is not cut", "min(self.C * seen.weight, hinge(seen) / seen.gain)", "hinge(seen) / seen.gain"),
        ("PA-I takes the larger", "min(self.C * seen.weight,", "max(self.C * seen.weight,"),
        ("PA-II is damped by 1/C", "0.5 / C) if", "1.0 / C) if"),
        ("PA-II ignores the sample weight", "cdef double C = self.C * seen.weight", "cdef double C = self.C"),
    ),
    *_edits(
        "river_margins/rules/gradient.pyx",
        ("the squared hinge has slope 1", "        return hinge(seen)\n", "        return 1.0\n"),
        ("the logistic slope falls the wrong way", "1.0 / (1.0 + exp(min(seen.margin", "1.0 / (1.0 + exp(-min(seen.margin"),
        ("the schedule 1/t starts at 2", "else lr / t if", "else lr / (t + 1) if"),
        ("the schedule 1/sqrt(t) is 1/t", "return lr / sqrt(<double> t) if", "return lr / t if"),
        ("no projection onto the radius", "out.radius = self.largest_norm", "out.radius = INFINITY"),
        ("FOBOS has no threshold", "out.threshold = rate * self.lam", "out.threshold = 0.0"),
        ("the threshold of FOBOS has no rate", "out.threshold = rate * self.lam", "out.threshold = self.lam"),
        ("least mean squares are never normalised", "max(self.lr, 1.0)) / (1e-8 + seen.gain)", "max(self.lr, 1.0))"),
        ("Pegasos shrinks by half as much", "max(1.0 - seen.weight / seen.t, 0.0)", "max(1.0 - 0.5 * seen.weight / seen.t, 0.0)"),
        ("Pegasos steps by 1/lam", "/ (self.lam * seen.t) if", "/ self.lam if"),
        ("Pegasos overlooks losses below 0.1", "hinge(seen) > 1e-12", "hinge(seen) > 0.1"),
        ("Pegasos is not projected", "out.radius = 1.0 / sqrt(self.lam)", "out.radius = 2.0 / sqrt(self.lam)"),
        ("NORMA forgets nothing", "max(1.0 - rate * self.lam, 0.0)", "1.0"),
    ),
    *_edits(
        "river_margins/rules/maximum_margin.pyx",
        ("ROMMA overshoots", "seen.size * (1.0 - seen.margin) / determinant", "seen.size / determinant"),
        ("ROMMA keeps all of w", "out.scale = (product - seen.margin) / determinant", "out.scale = 1.0"),
        ("aggressive ROMMA stops at half the margin", "seen.margin < 1.0 if self", "seen.margin < 0.5 if self"),
        ("ROMMA drops the old half-space never", "elif product <= seen.margin:", "elif False:"),
        ("ALMA's steps stay long", "self.C * seen.weight / root / length", "self.C * seen.weight / length"),
        ("ALMA asks for a margin that does not fall", "self.first / root:", "self.first:"),
        ("ALMA's weights grow", "/ root / length, 1.0", "/ root / length, 1e9"),
    ),
    *_edits(
        "river_margins/rules/gaussian.pyx",
        ("AROW steps further", "hinge(seen) / (seen.gain + r), 1.0 / r", "hinge(seen) / seen.gain, 1.0 / r"),
        ("AROW shrinks by r", "hinge(seen) / (seen.gain + r), 1.0 / r", "hinge(seen) / (seen.gain + r), r"),
        ("a sample weight does nothing to AROW", "r = self.r / seen.weight", "r = self.r"),
        ("a label without a loss is not an equality", "hinge(seen) > 0.0 or seen.equality", "hinge(seen) > 0.0"),
        ("NAROW shrinks below 1/b too", "if surplus <= 0.0:\n            return INFINITY", "if surplus <= 0.0:\n            return 1.0"),
        ("NHERD shrinks too little", "C * (2.0 + C * seen.gain)", "C * (1.0 + C * seen.gain)"),
        ("CW is content with half of phi", "seen.margin < self.asked_phi * sqrt", "seen.margin < 0.5 * self.asked_phi * sqrt"),
        ("CW steps twice as far", "self.set_step(self.needed_step(seen), seen, out)", "self.set_step(2.0 * self.needed_step(seen), seen, out)"),
        ("CW in variances shrinks half as much", "out.shrink = 2.0 * out.step * phi", "out.shrink = out.step * phi"),
        ("SCW-I is not cut", "fmin(self.C * seen.weight, self.needed_step(seen))", "self.needed_step(seen)"),
        ("SCW-II is damped by 1/C", "damping = 0.5 / (self.C", "damping = 1.0 / (self.C"),
        ("IELLIP's cuts do not fade", "self.c * pow(self.b, seen.t - 1.0)", "self.c * self.b"),
        ("IELLIP does not inflate", "1.0 / (1.0 - cut)\n", "1.0\n"),
        ("the second-order perceptron shrinks half as much", "out.step, out.shrink = seen.weight, seen.weight\n", "out.step, out.shrink = seen.weight, 0.5 * seen.weight\n"),
        ("its score does not look ahead", "return 1.0\n\n    cdef int respond", "return INFINITY\n\n    cdef int respond"),
    ),
    *_edits(
        "river_margins/rules/all_classes.pyx",
        ("the threshold leaves out one class", "return total / (count + 1)\n", "return total / (count + 2)\n"),
        ("one class moves only", "count += 1\n            threshold = next", "count += 1\n            threshold = next\n            break"),
        ("MIRA's steps are not cut", "0.0), C) - before", "0.0), 1e9) - before"),
        ("MIRA sees one class less", "min(<Py_ssize_t> self.best, blocks - 1)", "max(<Py_ssize_t> self.best - 1, 1)"),
        ("the original MIRA goes past 0", "max(-seen.margin / seen.gain, 0.0), 1.0)", "max((0.5 - seen.margin) / seen.gain, 0.0), 1.0)"),
    ),
    *_edits(
        "river_margins/spaces/linear.pyx",
        ("w is projected onto half of the radius", "step.radius / sqrt(size) if", "0.5 * step.radius / sqrt(size) if"),
        ("the first weights of a round have the wrong scale", "shorten * direction.terms[i].coefficient / self.scale", "shorten * direction.terms[i].coefficient"),
        ("|w|² forgets the margin", "+ 2.0 * step.scale * step.step * seen.margin", "+ 0.0 * seen.margin"),
    ),
    *_edits(
        "river_margins/spaces/averaged.pyx",
        ("the mean counts a round twice", "self.count * self.kept + seen.weight\n", "self.count * self.kept + 2.0 * seen.weight\n"),
        ("the mean forgets nothing", "self.count * self.kept", "self.count"),
        ("one round more is skipped", "self.rounds <= self.skipped_rounds", "self.rounds <= self.skipped_rounds + 1"),
        ("a snapshot forgets the sum", '"mass": self.mass', '"mass": 0.0'),
    ),
    *_edits(
        "river_margins/spaces/gaussian.pyx",
        ("a half life forgets nothing", "self.block[i].decay *= self.kept", "self.block[i].decay *= 1.0"),
        ("rounds without weight forget too", "if seen.weight == 0.0:  # a round that teaches", "if False:  # a round that teaches"),
    ),
    *_edits(
        "river_margins/core/experts.pyx",
        ("nothing is shared among experts", "+ part", "+ 0.0 * part"),
        ("losses count twice", "exp(-self.eta * self.fall)", "exp(-2.0 * self.eta * self.fall)"),
        ("a weighted mistake counts once", "y) else w", "y) else 1.0"),
        ("a refusal is not a loss", "0.0 if not reading.refused[i] and is_label(", "0.0 if reading.refused[i] or is_label("),
    ),
    *_edits(
        "river_margins/families/calibrated.py",
        ("the label is learned before its score is used", "self._calibration.learn(scores, plain(y)", "self._calibration.learn(self._scores(x), plain(y)"),
        ("the labels of votes come in any order", "(True, False) if votes else self.classifier", "self.classifier"),
        ("the calibration forgets nothing", "0.5 ** (1.0 / self.half_life)", "1.0"),
    ),
    *_edits(
        "river_margins/spaces/sparse.pyx",
        ("the threshold is taken once too often", "at.settled, at.rate = self.threshold, 1.0", "at.settled, at.rate = 0.0, 1.0"),
        ("AdaGrad adds no squares", "at.squares += step * step\n        at.rate = self.lr / (self.delta + sqrt(at.squares))\n        at.pull", "at.rate = self.lr / (self.delta + sqrt(at.squares))\n        at.pull"),
    ),
    *_edits(
        "river_margins/spaces/sparse_steps.h",
        ("dual averaging subtracts the step", ".pull += step;", ".pull -= step;"),
        ("the leader is not held by its weights", "(after - before) / alpha * weight", "0.0 * weight * before"),
        ("l2 is ignored", "/ alpha + l2", "/ alpha"),
    ),
    *_edits(
        "river_margins/spaces/coin_betting.pyx",
        ("the present value does not count in a score", "bet(at + block, max(at[block].settled, fabs(value)))", "bet(at + block, at[block].settled)"),
        ("a bet is twice as high", "(2.0 * (variance if", "(1.0 * (variance if"),
        ("a bet is not cut off", "variance if at.pull * at.pull <= variance else fabs(at.pull) * sqrt(variance)", "variance"),
        ("nothing is won", "at.rate += here * bet(at, at.settled)", "at.rate += 0.0"),
        ("the first wealth of a regressor is 1", "else seen.target - seen.margin", "else 1.0"),
        ("a heavy example loses more than half", "max(at.settled, fabs(value), fabs(here))", "max(at.settled, fabs(value))"),
    ),
    *_edits(
        "river_margins/spaces/pocket.pyx",
        ("the pocket takes the last weights", "if self.run <= self.record:", "if self.run < 1:"),
        ("the ratchet takes equals", "self.count_right(self) > self.count_right", "self.count_right(self) >= self.count_right"),
        ("a run goes on after an error", "self.run = 0\n", "pass\n"),
    ),
    *_edits(
        "river_margins/spaces/voted.pyx",
        ("a tie of classes is a vote", "if not tied:", "if True:"),
        ("the last weights have no vote", "self.steps.mark[self.steps.rows - 1] += seen.weight", "self.steps.mark[max(self.steps.rows - 2, 0)] += seen.weight"),
    ),
    *_edits(
        "river_margins/spaces/budgets.pyx",
        ("the largest is removed", "if costs[i] < costs[found]:", "if costs[i] > costs[found]:"),
        ("every removal starts at the seed", "next_number(generator) %", "generator[0] %"),
    ),
    *_edits(
        "river_margins/spaces/kernel.pyx",
        ("the budget is one too large", "self.expansion.count >= self.budget.size", "self.expansion.count > self.budget.size"),
        ("|w|² forgets the removed support", "self.size_before = self.size_without_removed(self.size_before)", "pass"),
    ),
    *_edits(
        "river_margins/spaces/budgeted_kernels.pyx",
        ("BPA does not project what it removes", "* self.row.evaluations[self.removed] / self.self_kernel\n            )", "* 0.0\n            )"),
        ("a Projectron projects nothing", "or rest <= self.eta or", "or rest < 0.0 or"),
        ("a Projectron++ steps as on a mistake", "2.0 * (loss - rest / self.eta) / within, 1.0)", "1.0)"),
    ),
    *_edits(
        "river_margins/spaces/multiplicative.pyx",
        ("new features score nothing", "total += unseen * fresh[i]", "total += 0.0 * fresh[i]"),
        ("an erased weight comes back", "elif weight[0] != 0.0:", "else:"),
        ("Winnow has no threshold", "row.scores[0] = total - self.threshold", "row.scores[0] = total"),
    ),
    *_edits(
        "river_margins/spaces/pnorm.pyx",
        ("the gain of the p-norm is that of p = 2", "(self.exponent - 1.0) * length * length", "length * length"),
    ),
    *_edits(
        "river_margins/core/class_weights.pyx",
        ("the present example is not counted in n", "<double> (self.examples + 1)", "<double> self.examples"),
        ("the present example is not counted in n_y", "cdef long long own = 1", "cdef long long own = 0"),
        ("all labels count as seen", "(self.kinds + (own == 1))", "len((<Labels> task).labels)"),
        ("a label that comes late outweighs all others", "* own), <double> own)", "* own), 1e300)"),
        ("a new label takes the weight of another", "label = plain(y)", "label = labels[0] if labels else plain(y)"),
        ("a label like one with a weight is not told", "if label not in self.parameter and", "if False and"),
        ("no label is refused", "self.checked = self.balanced", "self.checked = True"),
        ("counts are not restored", "        self.counts = counts\n", ""),
        ("examples are not restored", "self.examples, self.kinds = sum(counts),", "self.kinds ="),
    ),
    *_edits(
        "river_margins/core/learner.pyx",
        ("weights of classes do not multiply", "seen.weight *= self.class_weights", "seen.weight = self.class_weights"),
        ("a mutation resets the counts", "if not is_balanced(self.class_weights) or not is_balanced(fresh.class_weights):", "if True:"),
    ),
    *_edits(
        "river_margins/tasks/binary.pyx",
        ("the classes change places", "return code > 0.0", "return code < 0.0"),
        ("a score of 0 predicts the negative", "return self.positive if row.scores[0] >= 0.0", "return self.positive if row.scores[0] > 0.0"),
    ),
    *_edits(
        "river_margins/tasks/multiclass.pyx",
        ("the last of equal classes is predicted", "if row.scores[block] > row.scores[best]:\n                best = block\n        return", "if row.scores[block] >= row.scores[best]:\n                best = block\n        return"),
        ("the rival may be the true class", "if block != true and (rival < 0", "if (rival < 0"),
        ("shares do not add up to 1", "coefficient = -1.0 / (count - 1)", "coefficient = -1.0"),
    ),
    *_edits(
        "river_margins/tasks/regression.pyx",
        ("a quantile is the median", "(quantile, 1.0 - quantile)", "(0.5, 0.5)"),
        ("a quantile is its complement", "self.up if sign > 0.0 else self.down", "self.down if sign > 0.0 else self.up"),
        ("the target of a quantile is that of an error", "price * (sign * code - self.eps)", "sign * code - self.eps"),
        ("eps is ignored", "price * (sign * code - self.eps)", "price * (sign * code)"),
        ("no label demands equality", "direction.equality = self.eps == 0.0", "direction.equality = False"),
    ),
    *_edits(
        "river_margins/core/learner.pyx",
        ("weights that are set have no length", "float(np.vdot(table, table))", "0.0"),
        ("the row of two labels is that of the first", "labels[len(labels) - len(blocks):]", "labels[: len(blocks)]"),
        ("a score from bets is a product", "or space.weighs_by_example or", "or"),
    ),
    *_edits(
        "river_margins/core/weights.py",
        ("a feature that one class names is not in the others", "np.zeros((len(places), len(vectors)))", "np.ones((len(places), len(vectors)))"),
        ("a weight may be infinite", "and math.isfinite(weight)", "and True"),
        ("a bucket may be any number", "0 <= feature < buckets", "True"),
    ),
    *_edits(
        "river_margins/preprocessing/hasher.pyx",
        ("the order depends on the past", "            fill_row_from_step(self.reader, row, x)\n        made", "        made"),
        ("signs stay without being asked for", "Reader(False, n_features, 1.0, alternate_sign)", "Reader(False, n_features)"),
    ),
    *_edits(
        "river_margins/preprocessing/interactions.pyx",
        ("a square is left out", "plan.last_feature(left) + (not self.repeats)", "plan.last_feature(left) + 1"),
        ("the order of the example shows in a name", "(first, text) if first <= text else (text, first)", "(first, text)"),
        ("a text is not a feature of its pair", ' or key.startswith(f"{side}=")', ""),
        ("other keys take the products of the last ones", "if plan is None or keys != plan.keys:", "if plan is None or len(keys) != len(plan.keys):"),
    ),
    *_edits(
        "river_margins/preprocessing/words.pyx",
        ("a word of one letter counts", "if end - start > 1:", "if end - start > 0:"),
        ("a hyphen ends a word", 'elif c != c"-":', "else:"),
        ("a word keeps the hyphens behind it", "PyUnicode_Substring(text, start, end)", "PyUnicode_Substring(text, start, i)"),
        ("a text counts for a word as often as the word is in it", "self.texts_with[index] += 1.0", "self.texts_with[index] += made.row.value[i]"),
        ("a new word has no weight", "known = self.texts_with[index] if index >= 0 else 0.0", "known = self.texts_with[index] if index >= 0 else self.texts"),
    ),
    *_edits(
        "river_margins/families/active.py",
        ("the sampler's logarithm starts at 2", "math.log(t) / self.n_queries", "math.log(t + 1) / self.n_queries"),
    ),
    *_edits(
        "river_margins/networks/backprop.py",
        ("the slope of the units is left out", "delta = slope(inputs) * (layer[1:] @ delta)", "delta = layer[1:] @ delta"),
        ("a refused step leaves its features", "            self._rows.shrink(features)\n", ""),
        ("the mean of the labels starts at 0", "(y - old) * (w / count)", "(y - old) * (w / (count + 1))"),
    ),
    *_edits(
        "river_margins/networks/layers.py",
        ("constants are not learned", "np.concatenate([[1.0], inputs])", "np.concatenate([[0.0], inputs])"),
        ("the weights of new features are zeros", 'normal_row(inputs, rows.width, gain, seed, "feature", name)', "np.zeros(rows.width)"),
    ),
    *_edits(
        "river_margins/networks/hedge.py",
        ("all depths weigh the same in the gradient", "wrong = self._alpha[:, None] * (", "wrong = (1 / self.layers) * ("),
        ("there is no floor", "max(self.s / self.layers, LEAST)", "LEAST"),
        ("the sample weight does not reach the depths", "self.beta ** (w * (losses - shared))", "self.beta ** (losses - shared)"),
    ),
    *_edits(
        "river_margins/adaptation/log_linear.py",
        ("the gradient is not that of the loss", "    shares[label] -= 1.0\n", "    shares[label] -= 0.9\n"),
        ("features that are absent do not decay", "            self._rows.values[:] *= kept\n", "            pass\n"),
    ),
    *_edits(
        "river_margins/adaptation/ridge.py",
        ("the squares are not forgotten", "all_squares = self.forgetting *", "all_squares = 1.0 *"),
        ("features that are absent keep their weight", "self._rows.values[:] *= 1.0 - self.alpha", "pass"),
        ("the last of equal candidates is the best", "best = int(np.argmax(qualities))", "best = int(len(qualities) - 1 - np.argmax(qualities[::-1]))"),
    ),
    *_edits(
        "river_margins/adaptation/mixture.py",
        ("delta is ignored", "self._evidence + self.delta * log", "self._evidence + log"),
        ("the models are not around the trained one", "np.hstack([trained, trained + drawn])", "np.hstack([trained, drawn])"),
    ),
    *_edits(
        "river_margins/adaptation/one_step.py",
        ("AdaGrad forgets", "squares = first + g * g", "squares = g * g"),
        ("AdaDelta keeps gradients for steps", "(1 - RHO) * v * v", "(1 - RHO) * g * g"),
        ("a refused example leaves its features", "            self._of.restore(self.adapted, before)\n", ""),
    ),
    *_edits(
        "river_margins/concepts/finite_class.py",
        ("a tie of the halving algorithm is False", "(votes[label], label)", "(votes[label], -label)"),
        ("concepts are removed after mistakes only", "self._alive[:] = agreeing or self._alive", "self._alive[:] = (agreeing or self._alive) if mistake else self._alive"),
    ),
    *_edits(
        "river_margins/concepts/elimination.py",
        ("negated literals stay, as on the slides", "always = true if first else self._always & true", "always = set(self._names) if first else self._always"),
    ),
    *_edits(
        "river_margins/concepts/hedge.py",
        ("the rate is that of the round before", 'self._facts["rounds"] + 1', 'max(self._facts["rounds"], 1)'),
        ("the rate is half", "math.sqrt(8.0 *", "math.sqrt(2.0 *"),
        ("weights are those of all rates so far", "self._experts.weights = [1.0 / len(self._losses)] * len(self._losses)", "pass"),
    ),
    *_edits(
        "river_margins/version_space/ellipsoid.py",
        ("a deep cut is too small", "(1.0 - left) * np.outer", "(0.9 - left) * np.outer"),
        ("an ellipsoid that grows loses weights", "math.sqrt(new / old) * self.factor", "self.factor"),
        ("a known margin does not cut", "(self.margin - float(", "(-float("),
    ),
    *_edits(
        "river_margins/version_space/volumetric.py",
        ("a cut is twice as far behind the centre", "direction @ self.centre - depth)", "direction @ self.centre - 2 * depth)"),
        ("the centre is the analytic one", "gradient = -leverages @ scaled", "gradient = -np.ones(len(leverages)) @ scaled"),
        ("cuts of no influence stay", "if leverages[weakest] >= self.eps", "if True"),
    ),
    *_edits(
        "river_margins/version_space/geometry.py",
        ("hit-and-run prefers one side", "least, most = -1.0 / speeds.max(axis=1)", "least, most = -0.5 / speeds.max(axis=1)"),
        ("the second moments are not around the mean", " - np.outer(mean, mean)", ""),
    ),
    *_edits(
        "river_margins/version_space/space.py",
        ("points that start in one place do not find the shape of the space", "PHASES = 8", "PHASES = 0"),
        ("points that were cut off are copied", "STEPS = 5", "STEPS = 0"),
        ("the estimated volume does not fall", "math.log(share),", "0.0,"),
    ),
    *_edits(
        "river_margins/spaces/diagonal.pyx",
        ("variances do not grow back", "cdef double factor = self.a * block.decay", "cdef double factor = self.a"),
        ("an example counts as if it came at the start", "min(k / block.decay, MOST)", "min(k, MOST)"),
        ("wrong labels take a variance to 0 in spite of its least one", "self.largest_sum(block), row.known", "MOST, row.known"),
        ("a look-ahead mean counts as if it came at the start", "else 1.0 / block.decay, min(", "else 1.0, min("),
        ("a fold does not reach the means", "                block.mean[i] *= block.decay", "                pass"),
        ("a fold does not reach the variances", "            block.variance[i] *= block.decay", "            pass"),
        ("a shown weight does not decay", "self.variance_at(block, index)) * block.decay", "self.variance_at(block, index))"),
    ),
    *_edits(
        "river_margins/spaces/full.pyx",
        ("a new feature has the variance of the first round", "self.block[i].start * self.block[i].decay", "self.a * self.block[i].decay"),
        ("variances grow without a bound", "if self.block[i].start >= sqrt(2.0) * self.a:", "if False:"),
        ("variances grow for the first example only", "            self.block[i].start /= self.kept", "            pass"),
        ("a variance does not grow", "return max(value, 0.0) / block.decay", "return max(value, 0.0)"),
        ("an example counts as if it came at the start", "coefficient * coefficient / block.decay, square", "coefficient * coefficient, square"),
        ("a wrong label takes the variance along its example to 0", "if self.least_variance > 0.0:", "if False:"),
        ("a fold does not reach the matrix", "block.variance[i * self.capacity + j] /= block.decay", "pass"),
    ),
    *_edits(
        "river_margins/spaces/gaussian.pyx",
        ("wrong labels take a variance to 0 in spite of the half life", "self.a * LEAST_VARIANCE if", "0.0 if"),
        ("numbers are never folded", "if self.block[i].decay < LEAST_DECAY:", "if False:"),
        ("a snapshot forgets the decay", "self.block[i].unit, self.block[i].decay, self.block[i].start = units[i], decays[i], starts[i]", "self.block[i].unit, self.block[i].start = units[i], starts[i]"),
    ),
    *_edits(
        "river_margins/core/experts.pyx",
        ("a feature that an expert misses is refused for all", "ArithmeticError, LookupError)", "ArithmeticError)"),
        ("an expert that diverges is the mean", "if fabs(number) > FAR and near > 0", "if False"),
        ("an expert without a share never comes back", "max(self.weight[i] * self.factor, LEAST_WEIGHT)", "self.weight[i] * self.factor"),
        ("the last of equal labels leads", "if reading.votes[place] / total > most:", "if reading.votes[place] / total >= most:"),
        ("equal labels are counted apart", "places = {label: number for number, label in enumerate(known)}", "places = {}"),
        ("all losses count like the first", "if losses[i] - least != self.fall:", "if self.fall == 0.0:"),
        ("experts that know other features share a row", "reader.agreed >= other.size()", "reader.agreed >= 0"),
        ("a regressor that refuses to learn has no loss", "if reading.refused[i]:", "if False:"),
        ("a large error counts more than 1", "if error < 2.0 * self.mean_error else w", ""),
        ("the first error counts", "if self.label_weight > 0.0:", "if True:"),
        ("labels are not centred", "(label - mean) / deviation(squares, count)", "label / deviation(squares, count)"),
        ("the scale of losses does not follow a drift", "min(max(part, w * ERROR_MEMORY), 1.0)", "min(part, 1.0)"),
        ("a weight does nothing to the variance of labels", "self.squares + w * (label - old_mean)", "self.squares + (label - old_mean)"),
        ("the prediction is not in the unit of the labels", "self.label_mean + unit * mean", "self.label_mean + mean"),
        ("an expert that cannot learn has no vote", "self.predict_or_none(i, x, reading) if predicting else None", "None"),
        ("a learner that refused is still learning", "learner.learning = busy = False\n                    reading", "busy = False\n                    reading"),
        ("a new feature is read by one expert for all", "if not row.fresh:", "if True:"),
        ("one call does not remember what River's expert said", "if learner is not None:\n                        said[i]", "if True:\n                        said[i] = None\n                    if learner is not None:\n                        said[i]"),
        ("a prediction that is not a number counts", "if isfinite(reading.numbers[i]) and (", "if ("),
    ),
    *_edits(
        "river_margins/families/auto.py",
        ("a restored model trusts all experts equally", '        self._experts.weights = state["weights"]', "        pass"),
        ("labels are not checked", "                last.check_label(y)", "                pass"),
    ),
    *_edits(
        "river_margins/families/calibrated.py",
        ("the prior counts in full in every round", "- (1.0 - discount) * PRECISION * constant", "- PRECISION * constant"),
        ("the steep function is not used", "+ second * g +", "+"),
        ("a weight does nothing to the constants", "pull = weight * ((label == y) - chance)", "pull = ((label == y) - chance)"),
        ("the slopes move as if they were independent", "f_all * g_all - both * both", "f_all * g_all"),
        ("the best class has no lead", "score - (second if score == best else best)", "score - best"),
        ("a round without weight is forgotten for", "        if w > 0.0 and (learned is None", "        if True and (learned is None"),
    ),
    *_edits(
        "river_margins/core/transformed_row.pyx",
        ("names in another order are taken for the last ones", "            if not same_key(PyList_GET_ITEM(self.names, row.index[i]), expected[i]):\n                return False\n            value", "            value"),
    ),
    Edit(
        "a row is not used again",
        "river_margins/core/transformed_row.pyx",
        "        self.unread = False\n        if not",
        "        if not",
        survives="each example gets a new row, which only takes longer",
    ),
    *_edits(
        "river_margins/core/transformed_row.pxd",
        ("a row with new features is not read again", "        (<TransformedRow> x).unread = True", "        pass"),
    ),
    *_edits(
        "river_margins/pipeline.pyx",
        ("a text goes no way past a scaler", "return not (type(x) is dict and dict_walk_suits(x)) or has_text(x)", "return False"),
        ("a step in Python gets a row", "while self.is_chain and self.rows_from > 0 and", "self.rows_from -= last > 1\n        while self.is_chain and self.rows_from > 0 and"),
        ("a learner in Python gets a row", "return (<Learner> step).takes_rows", "return True"),
    ),
    *_edits(
        "river_margins/preprocessing/hasher.pyx",
        ("a text is not a number", "            x = numbers_of(x)", "            x = dict(x)"),
    ),
    *_edits(
        "river_margins/core/kernels.h",
        ("one call scales with the moments before", "divide ? scaled_two(from_new, deviations, most) : from_new", "divide ? scaled_two(from_old, deviations, most) : from_old"),
        ("the variance is too small", "- moments.variance) / moments.count", "- moments.variance) / (moments.count + 1.0)"),
        ("a scaler with a half life forgets nothing", "1.0 + kept * moments.count", "1.0 + moments.count"),
        ("a scaled value has no bound", "value > most ? most : value < -most ? -most : value", "value"),
    ),
    *_edits(
        "river_margins/preprocessing/scaler.pyx",
        ("new features are put last for the learner, too", "if is_new:  # learning", "if False:  # learning"),
        ("a variance beyond floating point is learned", "    if not isfinite(total):\n            raise OverflowError(f\"`{type(self).__name__}`: these values would", "    if False:\n            raise OverflowError(f\"`{type(self).__name__}`: these values would"),
    ),
    *_edits(
        "river_margins/spaces/budgets.pyx",
        ("the newest goes instead of any", "return <Py_ssize_t> (next_number(generator) % <uint64_t> count)", "return count - 1"),
    ),
    *_edits(
        "connectors/topics/commit.py",
        ("commits do not look at the group first", "        self._check_committed()\n        with", "        with"),
        ("messages are sent after the offsets", "            self.flush()  # 2\n            self.check_sends()  # 3\n", ""),
        ("failed messages are not noticed", "            self.check_sends()  # 3\n", ""),
        ("the commit goes back one record", "metadata.to_committed()", "metadata.to_committed()._replace(offset=max(metadata.offset - 1, 0))"),
        ("snapshots are named before they are written", "        for each in writing:\n            each.result()\n", ""),
        ("superseded snapshots stay", "        self.delete_superseded()  # 7\n", ""),
        ("a transaction stays open at the end", "                self._outbox.abort_transaction()", "                pass"),
        ("the inputs since a snapshot are not counted", "examples=examples, inputs=inputs, crc=crc", "examples=examples, inputs=0, crc=crc"),
        ("a restart replays what a snapshot could hold", "        self._writes_all_snapshots = True\n        found", "        found"),
    ),
    *_edits(
        "connectors/topics/outbox.py",
        ("a failed commit's messages stay counted", "self.moved, self._opened, self.pending, self.oldest = set(), None, Counts(), math.inf", "self.moved, self._opened, self.oldest = set(), None, math.inf"),
        ("a dropped producer's transaction stays open", "            self._producer.close()\n            self._producer = None\n        self._clear()", "            self._producer = None\n        self._clear()"),
    ),
]  # fmt: skip
