// Runs Azurite and ends with whoever started it: when standard input closes,
// the starter is gone, even if it was killed. Arguments are Azurite's own.
process.stdin.resume();
process.stdin.on("close", () => process.exit(0));
withoutTelemetry(require("module"));
quicken(require("lokijs"));
sweepLate(require("azurite/dist/src/blob/gc/BlobGCManager.js").default);
require("azurite/dist/src/azurite.js");

// Two thirds of the time that Azurite takes to start it spends on loading what sends its telemetry, which is disabled.
function withoutTelemetry(Module) {
  const load = Module._load;
  Module._load = function (request, ...more) {
    return request === "applicationinsights" ? {} : load.call(this, request, ...more);
  };
}

// Azurite looks at every blob of the account to find one, and sorts all of them
// anew, once an index, to delete one: hours for 24,000. Every ten minutes it removes
// what blobs that were deleted held in the same way, and answers nothing meanwhile:
// for a minute after 7,000. Asked for the name first its database uses the index of
// names, and can remove one by one. What Azurite answers is the same.
function quicken({ Collection, Resultset }) {
  const find = Resultset.prototype.find;
  Resultset.prototype.find = function (query, firstOnly) {
    const { name, ...rest } = query ?? {};
    return find.call(this, typeof name === "string" ? { name, ...rest } : query, firstOnly);
  };
  Collection.prototype.findAndRemove = function (query) {
    for (const found of this.find(query)) this.remove(found);
  };
}

// Every ten minutes Azurite deletes the content that no blob has. A blob that is being created meanwhile may lose its
// content: reads of it fail with 500 from then on. Only what no blob had ten minutes earlier either is deleted.
function sweepLate({ prototype }) {
  const start = prototype.start;
  prototype.start = function () {
    const { extentStore } = this;
    const remove = extentStore.deleteExtents.bind(extentStore);
    let earlier = new Set();
    extentStore.deleteExtents = (unreferred) => {
      const late = [...unreferred].filter((id) => earlier.has(id));
      earlier = new Set(unreferred);
      return remove(late);
    };
    return start.call(this);
  };
}
