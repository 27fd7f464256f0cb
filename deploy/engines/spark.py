# A temporary view "logs" of a store for Spark, of blobs of up to 2 GiB. The executors need the package zstandard.
import io, re, zstandard

def place(path):  # https://ACCOUNT.blob.core.windows.net/CONTAINER/NAME
    if not path.startswith("https://"):
        return path
    host, container, name = path[len("https://"):].split("/", 2)
    return f"abfss://{container}@{host.replace('.blob.', '.dfs.')}/{name}"

def records(blob):
    text = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(blob.content), read_across_frames=True).read()
    for record in re.split(rb"\n(?!\t)", text[:-1]):
        *head, message = record.split(b"\t", 4)
        yield (blob.path, *(column.decode() for column in head), bytearray(message.replace(b"\n\t", b"\n")))

paths = [place(row.path) for row in spark.read.json("segments.json").select("path").collect()]
logs = spark.createDataFrame(spark.read.format("binaryFile").load(paths).rdd.flatMap(records),
                             "path string, time string, level string, source string, attributes string, message binary")
logs.createOrReplaceTempView("logs")
