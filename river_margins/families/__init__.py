"""The named estimators: each is a rule, a space and a task, put together by a constructor.

| module | estimators |
|---|---|
| `composed` | a classifier and a regressor for any rule in any space |
| `perceptrons` | the perceptron, averaged, voted, pocket, p-norm |
| `passive_aggressive` | passive-aggressive classification, regression, label ranking |
| `mira` | MIRA |
| `one_class` | passive-aggressive learning without labels |
| `structured`, `tagger` | passive-aggressive learning of structured outputs; a sequence tagger |
| `gradient` | Adaline, online gradient descent, Pegasos |
| `coin_betting` | coin betting, without a learning rate |
| `sparse` | FTRL-proximal, AdaGrad-RDA, FOBOS |
| `maximum_margin` | ROMMA, ALMA |
| `multiplicative` | Winnow |
| `gaussian` | AROW, NAROW, NHERD |
| `confidence_weighted` | CW, SCW |
| `second_order` | the second-order perceptron, also with a kernel; IELLIP |
| `kernel` | the perceptron and passive-aggressive learners with a kernel |
| `kernel_budget` | kernel learners with a bounded number of supports |
| `kernel_gradient` | gradient descent with a kernel or with random features |
| `active` | selective samplers: they decide for which examples to request the label |
| `calibrated` | probabilities from the scores of a classifier |
"""
