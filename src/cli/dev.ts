/** `weir dev`: serves a project on this machine and follows its changes. */
import { readArguments, ENV, CliFault } from "./console.ts";
import { Dev } from "./dev/loop.ts";
import { lockState } from "./dev/state-lock.ts";
import { findProject } from "./project/project.ts";

export const usage = `weir dev [dir] [--port <port>] [--host <name>]... [--env <name>] [--state <folder>] [--verbose]

Serves the project of dir (default: this folder) and follows changes of its code, env and configuration. State is kept in
.weir/state, which one process serves at a time. A build that fails leaves the last good one serving.

  --port <port>  where it listens (default: PORT, or 8787)
  --host <name>  a host name that requests may have besides localhost, such as a tunnel's; may be repeated
  --env <name>   an environment of the project's wrangler configuration
  --state <folder>
                 keeps the state there
  --verbose      shows what Miniflare, which runs the Worker, prints about itself`;

/** How long the process may take to end once everything is stopped. */
const EXIT_MS = 1_000;

/** `prepare` runs before the first build, once the state and the port are this process's. */
export async function run(argv: string[], prepare?: () => void): Promise<number> {
  const { values, dir } = readArguments(argv, {
    port: { type: "string" },
    host: { type: "string", multiple: true },
    ...ENV,
    state: { type: "string" },
    verbose: { type: "boolean" },
  });
  const port = Number(values.port ?? process.env.PORT ?? 8787);
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    throw new CliFault(`"${values.port ?? process.env.PORT}" is no port.`);
  const { stateDir } = await findProject(dir, values.state);
  const lock = lockState(stateDir, `http://127.0.0.1:${port}`);
  const dev = new Dev({
    dir,
    state: values.state,
    port,
    prepare,
    env: values.env,
    hosts: values.host ?? [],
    print: (text) => console.log(text),
    trace: (line) => values.verbose && console.log(line),
  });
  const asked = new Promise<void>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => resolve());
    endWithNpm(resolve);
  });
  try {
    const ended = Promise.race([asked, dev.lost]);
    await dev.start(ended);
    await ended;
  } finally {
    await dev.stop();
    lock.release();
    // A connection of a client or a file watcher must not keep the process.
    setTimeout(() => process.exit(), EXIT_MS).unref();
  }
  return 0;
}

/** When npm is stopped, it leaves its script running. So the command watches for npm's exit. */
function endWithNpm(end: () => void): void {
  const parent = process.ppid;
  if (process.env.npm_lifecycle_event) setInterval(() => process.ppid !== parent && end(), 300).unref();
}
