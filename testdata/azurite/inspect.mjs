// Looks at a storage account with Microsoft's own JavaScript clients, which
// share no code with Logstow.
//
//   node inspect.mjs CONTAINER        JSON: the container's blobs, the account's tables and their entities
//   node inspect.mjs CONTAINER BLOB   the blob's stored bytes
//
// The account is AZURE_STORAGE_CONNECTION_STRING.
import { pipeline } from "node:stream/promises";
import { TableClient, TableServiceClient } from "@azure/data-tables";
import { BlobServiceClient } from "@azure/storage-blob";

const connection = process.env.AZURE_STORAGE_CONNECTION_STRING ?? "";
const tableOptions = { allowInsecureConnection: connection.includes("http://") };

async function listBlobs(container) {
  const blobs = [];
  const client = BlobServiceClient.fromConnectionString(connection).getContainerClient(container);
  for await (const blob of client.listBlobsFlat({ includeMetadata: true })) {
    blobs.push({
      name: blob.name,
      metadata: blob.metadata ?? {},
      size: blob.properties.contentLength,
      etag: blob.properties.etag,
      type: blob.properties.blobType,
      contentType: blob.properties.contentType,
      contentEncoding: blob.properties.contentEncoding,
      created: blob.properties.createdOn,
    });
  }
  return blobs;
}

// An entity's values are as the service writes them; "NAME@type" is the type of
// a property that is not a string.
function flatten(entity) {
  const flat = {};
  for (const [name, property] of Object.entries(entity)) {
    if (property === null || typeof property !== "object") {
      flat[name] = property;
      continue;
    }
    flat[name] = property.value;
    if (property.type !== "String") flat[`${name}@type`] = property.type;
  }
  return flat;
}

async function listTables() {
  const tables = [];
  for await (const { name } of TableServiceClient.fromConnectionString(connection, tableOptions).listTables()) {
    const entities = [];
    const client = TableClient.fromConnectionString(connection, name, tableOptions);
    try {
      for await (const entity of client.listEntities({ disableTypeConversion: true })) entities.push(flatten(entity));
    } catch (error) {
      if (error.statusCode !== 404) throw error; // dropped meanwhile by somebody else
    }
    tables.push({ name, entities });
  }
  return tables;
}

const [container, blob] = process.argv.slice(2);
if (container === undefined || connection === "") {
  process.stderr.write("usage: AZURE_STORAGE_CONNECTION_STRING=… node inspect.mjs CONTAINER [BLOB]\n");
  process.exitCode = 2;
} else if (blob === undefined) {
  process.stdout.write(JSON.stringify({ blobs: await listBlobs(container), tables: await listTables() }, null, 1) + "\n");
} else {
  const client = BlobServiceClient.fromConnectionString(connection).getContainerClient(container);
  const answer = await client.getBlobClient(blob).download();
  await pipeline(answer.readableStreamBody, process.stdout);
}
