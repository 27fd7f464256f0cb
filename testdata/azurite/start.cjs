// Runs Azurite and ends with whoever started it: when standard input closes,
// the starter is gone, even if it was killed. Arguments are Azurite's own.
process.stdin.resume();
process.stdin.on("close", () => process.exit(0));
require("azurite/dist/src/azurite.js");
