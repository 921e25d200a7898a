"""The benchmark of the processor compares what differs in one thing."""

from tests.helpers.scripts import script


def test_a_loop_has_the_client_of_the_processor_beside_it():
    with script("benchmarks/processor.py") as module:
        made = module.contenders()
        pairs = [(name, other) for name, other, _ in module.comparisons(made)]
        passthroughs = [module.passthrough_kafka_python, module.passthrough_confluent]
        assert [made[name].args[0] for name in module.LOOPS.values()] == passthroughs
    loops = [(name, other) for name, other in pairs if "in a loop" in other]
    assert len(loops) == 4 and all(other.endswith(f", {name.partition(',')[0]}") for name, other in loops)
