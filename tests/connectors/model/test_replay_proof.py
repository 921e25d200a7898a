"""The proof that replayed inputs are those learned before, with the CRC-32C of an independent program."""

import pytest

from connectors.model.replay_proof import Progress, ReplayMismatch, ReplayProof


def crc32c_by_bits(data, crc=0):
    """CRC-32C as RFC 3720 defines it, bit by bit."""
    crc ^= 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


INPUTS = [(7, b"first"), (8, None), (10, b"")]  # offset 9 is a marker


def learned(inputs, proof=None):
    proof = proof or ReplayProof(7, 5, can_replay=True)
    for number, (offset, value) in enumerate(inputs):
        proof.advance(offset, value, examples=number + 1)
    return proof


def test_the_crc_is_of_offsets_lengths_and_values():
    text = b"7 5 first8 -1 10 0 "
    assert learned(INPUTS).progress(3) == Progress(11, 3, crc32c_by_bits(text, 5), 3)


def test_a_replay_of_the_same_inputs_ends_at_the_target():
    proof = ReplayProof(12, 5, can_replay=True)
    target = learned(INPUTS).progress(3)._replace(position=12)  # a marker followed
    proof.replay(target, position=7)
    assert proof.position == 7 and proof.progress(0) == target
    learned(INPUTS, proof)
    assert proof.target is None and proof.progress(3) == target


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ([(7, b"first"), (8, b""), (10, b"")], "the CRC of 3 inputs"),
        ([(7, b"first"), (8, None), (11, b"")], "the CRC of 3 inputs"),
        ([(7, b"other"), (8, None), (10, b"")], "the CRC of 3 inputs"),
    ],
)
def test_a_replay_of_other_inputs(inputs, said):
    proof = ReplayProof(11, 5, can_replay=True)
    proof.replay(learned(INPUTS).progress(3), position=7)
    with pytest.raises(ReplayMismatch, match=said):
        learned(inputs, proof)


def test_a_replay_that_learns_fewer_examples():
    proof = ReplayProof(11, 5, can_replay=True)
    proof.replay(learned(INPUTS).progress(4), position=7)
    with pytest.raises(ReplayMismatch, match="3 examples were learned instead of 4"):
        learned(INPUTS, proof)


def test_a_replay_with_inputs_missing():
    proof = ReplayProof(11, 5, can_replay=True)
    proof.replay(learned(INPUTS).progress(3), position=7)
    learned(INPUTS[:2], proof)
    proof.check_not_passed(10)
    with pytest.raises(ReplayMismatch, match="2 inputs were read again instead of 3"):
        proof.check_not_passed(11)
