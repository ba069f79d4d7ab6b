#!/usr/bin/env node
// Call a provider of promptfoo that is a JavaScript class or function: the request comes from standard input, as JSON,
// and the result is printed as JSON.
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const request = JSON.parse(readFileSync(0, "utf8"));
const here = dirname(fileURLToPath(import.meta.url));
console.log = console.info = console.debug = console.error; // what the script prints is no part of the result
const module = await import(pathToFileURL(resolve(here, request.script)));
const exported = module.default?.default ?? module.default ?? module;
const prompt = typeof request.prompt === "string" ? request.prompt : JSON.stringify(request.prompt);
const isClass = typeof exported === "function" && exported.prototype?.callApi;
const provider = isClass ? new exported(request.options) : exported;
const result = isClass || provider.callApi
  ? await provider.callApi(prompt, request.context, {})
  : await provider(prompt, request.context, request.options);
if (result?.error) {
  console.error(String(result.error));
  process.exit(1);
}
const output = result !== null && typeof result === "object" && "output" in result ? result.output : result;
process.stdout.write(JSON.stringify({ output: output ?? null }), () => process.exit(0));
