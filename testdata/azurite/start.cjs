// Runs Azurite and ends with whoever started it: when standard input closes,
// the starter is gone, even if it was killed. Arguments are Azurite's own.
process.stdin.resume();
process.stdin.on("close", () => process.exit(0));
if (process.env.LOGSTOW_LARGE === "1") quickenRemoval(require("lokijs").Collection);
require("azurite/dist/src/azurite.js");

// Azurite deletes each blob by a query, for which its database sorts all blobs anew,
// once an index: minutes for a thousand among 24,000. Removed one by one, as the
// database can do too, they take a binary search. What Azurite answers is the same.
function quickenRemoval(collection) {
  collection.prototype.findAndRemove = function (query) {
    for (const found of this.find(query)) this.remove(found);
  };
}
