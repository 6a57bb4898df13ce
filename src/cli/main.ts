#!/usr/bin/env node
/** The command line: a table of commands. Each module exports `run`, which gives the exit code, and `usage`. */
import module from "node:module";
import { CliFault, reportFault } from "./console.ts";
import { nodeFault, VERSION } from "./project/package.ts";

export interface Command {
  /** Gets the arguments after the command's name. Gives the exit code. */
  run: (argv: string[]) => Promise<number>;
  /** `weir <command> [arguments]`, a line each, then what the options mean. */
  usage: string;
}

/** One without `about` is for this program itself. */
const COMMANDS: Record<string, { about?: string; load: () => Promise<Command> }> = {
  dev: { about: "serve the project on this machine", load: () => import("./dev.ts") },
  bundle: { load: () => import("./dev/builder.ts") },
  schemas: { about: "read the JSON Schemas of the graphs", load: () => import("./schemas.ts") },
  eject: { about: "write the generated files into the project permanently", load: () => import("./eject.ts") },
  build: { about: "bundle the project into .weir/", load: () => import("./build.ts") },
  deploy: { about: "deploy the project into your Cloudflare account", load: () => import("./deploy.ts") },
  doctor: { about: "check the project, this machine and the account", load: () => import("./doctor.ts") },
  keys: { about: "create, list and revoke API keys", load: () => import("./keys.ts") },
  audit: { about: "verify an exported audit trail", load: () => import("./audit.ts") },
  eval: { about: "run an assistant over a dataset, and compare", load: () => import("./eval.ts") },
  logs: { about: "show what a deployment does, live", load: () => import("./logs.ts") },
  traces: { about: "find, read, follow and export traces", load: () => import("./traces.ts") },
  threads: { about: "find threads, and read their state, history and runs", load: () => import("./threads.ts") },
};

function overview(): string {
  const lines = Object.entries(COMMANDS).flatMap(([name, { about }]) =>
    about === undefined ? [] : [`  weir ${name.padEnd(8)} ${about}`],
  );
  return [`weir ${VERSION}`, "", ...lines, "", "weir <command> --help explains a command."].join("\n");
}

async function main([name, ...argv]: string[]): Promise<number> {
  if (name === "--version" || name === "-v") return print(VERSION);
  if (name === undefined || name === "help" || name === "--help" || name === "-h") return print(overview());
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (!command) throw new CliFault(`There is no command "${name}".\n\n${overview()}`);
  const fault = nodeFault();
  if (fault) throw new CliFault(fault);
  const { run, usage } = await command.load();
  return argv.includes("--help") || argv.includes("-h") ? print(usage) : run(argv);
}

function print(text: string): number {
  console.log(text);
  return 0;
}

// Node 22.0 does not have it.
module.enableCompileCache?.();
process.exitCode = await main(process.argv.slice(2)).catch(reportFault);
