/**
 * `npm run check:release`: what a new user does, with the packages as `npm pack` makes them: an empty folder, `npm create weir`,
 * `npm install`, `npm run dev`, the first streamed token, the `curl` that `weir dev` prints, the program of the project's README,
 * and its tests. Prints the seconds of each step.
 *
 *   node scripts/release-check.ts [--cold] [--built]
 *
 * --cold installs with an empty cache of npm. --built packs what `npm run build` and `build:package` have left. npm runs on the
 * Node that is first in PATH.
 */
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { quietPort } from "../test/support/ports.ts";

const ROOT = join(import.meta.dirname, "..");
const { values } = parseArgs({ options: { cold: { type: "boolean" }, built: { type: "boolean" } } });

const folder = mkdtempSync(join(tmpdir(), "weir-release-"));
const env = { ...process.env, ...(values.cold && { npm_config_cache: join(folder, "cache") }) };

/** Ends the check. */
class Failure extends Error {}

/** Runs a command to its end. Gives what it wrote to standard output. */
function run(command: string, args: string[], cwd: string): string {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, env, encoding: "utf8" });
  if (status !== 0) throw new Failure(`${stdout}\n${stderr}\n${command} ${args.join(" ")} ended with ${status}.`);
  return stdout;
}

/** Packs the package in `from`, as its `prepack` builds it, and gives the tarball's path. */
function pack(from: string, into: string, isBuilt = false): string {
  mkdirSync(into);
  run("npm", ["pack", "--pack-destination", into, ...(isBuilt ? ["--ignore-scripts"] : [])], from);
  const [tarball = ""] = readdirSync(into);
  return join(into, tarball);
}

/** Waits until the agent streams a token. */
async function firstToken(url: string): Promise<string> {
  const input = { messages: [{ role: "user", content: "What is 17 * 24?" }] };
  const body = JSON.stringify({ assistant_id: "agent", input, stream_mode: ["messages-tuple"] });
  for (;;) {
    const answer = await fetch(`${url}/runs/stream`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
    }).catch(() => undefined);
    if (answer?.ok && answer.body) {
      let text = "";
      for await (const piece of answer.body.pipeThrough(new TextDecoderStream())) {
        text += piece;
        const [, token] = /^event: messages\r?\ndata: .*?"content":"([^"]+)"/m.exec(text) ?? [];
        if (token) return token;
      }
      throw new Failure(`The stream ended without a token.\n${text}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Throws unless a run's output has the result of 17 * 24, which the offline model computes with a tool. */
function expectAnswer(of: string, output: string): void {
  if (!output.includes("408") || /event: error|^error /m.test(output))
    throw new Failure(`${output}\n${of} does not stream the answer.`);
}

/** The command that `weir dev` prints once it has answered its first request. */
async function findCurl(read: () => string): Promise<string> {
  for (let attempt = 0; attempt < 600; attempt += 1) {
    const [, curl] = /^ *Try +(curl .*)\n/m.exec(read()) ?? [];
    if (curl) return curl;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Failure(`${read()}\nweir dev prints no curl.`);
}

/** Writes the program of the project's README into a file, with the port of this server. */
function writeProgram(project: string, port: number): string {
  const [, program] = /^```ts\n([^]*?)^```$/m.exec(readFileSync(join(project, "README.md"), "utf8")) ?? [];
  if (!program?.includes("127.0.0.1:8787"))
    throw new Failure("The project's README has no program that calls the server.");
  writeFileSync(join(project, "talk.ts"), program.replace("8787", String(port)));
  return "talk.ts";
}

const steps: [string, number][] = [];
let since = performance.now();
function step(name: string): void {
  const now = performance.now();
  steps.push([name, (now - since) / 1_000]);
  console.log(`${((now - since) / 1_000).toFixed(1).padStart(6)} s  ${name}`);
  since = now;
}

async function check(): Promise<void> {
  const weir = pack(ROOT, join(folder, "weir"), values.built);
  const create = pack(join(ROOT, "packages", "create-weir"), join(folder, "create-weir"));
  const home = join(folder, "home");
  const project = join(home, "my-agent");
  mkdirSync(home);
  step("npm pack, both packages");
  steps.length = 0;

  run("npm", ["exec", "--yes", `--package=${create}`, "--", "create-weir", "my-agent", "--no-install"], home);
  step("npm create weir");
  run("npm", ["install", weir, "--no-audit", "--no-fund"], project);
  step("npm install");

  const port = await quietPort();
  const server = spawn("npm", ["run", "dev"], {
    cwd: project,
    env: { ...env, PORT: String(port) },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  // The output closes with the last process of the group.
  const closed = new Promise((resolve) => server.once("close", resolve));
  let said = "";
  for (const stream of [server.stdout, server.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => (said += text));
  const ended = new Promise<never>((_, reject) => {
    server.once("exit", (code) => reject(new Failure(`${said}\nnpm run dev ended with ${code}.`)));
  });
  try {
    const token = await Promise.race([firstToken(`http://127.0.0.1:${port}`), ended]);
    step(`npm run dev, first token ${JSON.stringify(token)}`);
    const total = steps.reduce((sum, [, seconds]) => sum + seconds, 0);
    console.log(`${total.toFixed(1).padStart(6)} s  from an empty folder to the first token`);

    expectAnswer("The curl that weir dev prints", run("sh", ["-c", await findCurl(() => said)], project));
    expectAnswer("The program of the README", run("node", [writeProgram(project, port)], project));
    step("the curl that weir dev prints, the program of the README");
  } finally {
    ended.catch(() => {});
    if (server.pid) process.kill(-server.pid, "SIGTERM");
    await closed;
  }
  run("npm", ["test"], project);
  step("npm test");
  // It fails when a package is not one that another one needs.
  console.log(run("npm", ["ls"], project));
}

try {
  await check();
} catch (error) {
  if (!(error instanceof Failure)) throw error;
  console.error(error.message);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
