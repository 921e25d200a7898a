"""A model for each customer, between topics of Kafka.

spark-submit --packages org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0 customers_spark.py localhost:9092 ./checkpoint
"""

import sys

from pyspark.sql import SparkSession

from connectors.spark import learn

servers, checkpoint = sys.argv[1:]
spark = SparkSession.builder.appName("customers").getOrCreate()
spark.conf.set(
    "spark.sql.streaming.stateStore.providerClass",
    "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
)
payments = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", servers)
    .option("subscribe", "payments")
    .option("startingOffsets", "earliest")
    .option("maxOffsetsPerTrigger", 100_000)
    .load()
)
scored = learn(payments, key="key", file="customers.yaml")
# a record that could be predicted and not be learned becomes two messages; one whose value is null is a reject, too
messages = scored.selectExpr(
    "key",
    "reject",
    "stack(2, 'predictions', CAST(output AS BINARY), 'rejects', record) AS (topic, value)",
    "array(struct('source' AS key, CAST(source AS BINARY) AS value),"
    " struct('reason' AS key, CAST(reject AS BINARY) AS value)) AS headers",
).where("value IS NOT NULL OR topic = 'rejects' AND reject IS NOT NULL")
query = (
    messages.writeStream.format("kafka")
    .option("kafka.bootstrap.servers", servers)
    .option("checkpointLocation", checkpoint)
    .start()
)
query.awaitTermination()
