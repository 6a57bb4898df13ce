/**
 * Measures the way of a new user: an empty folder and packed tarballs, `npm create weir`, `npm install`, `npm run dev`, until the
 * first streamed token of the agent. Prints the seconds of each step.
 *
 *   node test/cli/first-token.ts [--cold] [--built] [--limit <seconds>]
 *
 * --cold installs with an empty cache of npm. --built packs what `npm run build` and `build:package` have left. npm runs on the Node that is first in
 * PATH. Exits with 1 when the limit (default 60) is passed.
 */
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { quietPort } from "../../scripts/local-server.ts";
import { NAME, VERSION } from "../../src/cli/project/package.ts";

const ROOT = join(import.meta.dirname, "../..");
const { values } = parseArgs({
  options: { cold: { type: "boolean" }, built: { type: "boolean" }, limit: { type: "string", default: "60" } },
});

const folder = mkdtempSync(join(tmpdir(), "weir-first-token-"));
const env = { ...process.env, ...(values.cold && { npm_config_cache: join(folder, "cache") }) };

function run(command: string, args: string[], cwd: string): void {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, env, encoding: "utf8" });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} failed.\n${stdout}\n${stderr}`);
}

/** Packs the package in `from` and gives the tarball's path. */
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
      throw new Error(`The stream ended without a token.\n${text}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

const steps: [string, number][] = [];
let since = performance.now();
function step(name: string): void {
  const now = performance.now();
  steps.push([name, (now - since) / 1_000]);
  since = now;
}

try {
  const weir = pack(ROOT, join(folder, "weir"), values.built);
  const create = pack(join(ROOT, "packages", "create-weir"), join(folder, "create-weir"));
  const home = join(folder, "home");
  const project = join(home, "my-agent");
  mkdirSync(home);

  since = performance.now();
  run("npm", ["exec", "--yes", `--package=${create}`, "--", "create-weir", "my-agent", "--no-install"], home);
  const manifest = join(project, "package.json");
  writeFileSync(
    manifest,
    readFileSync(manifest, "utf8").replace(`"${NAME}": "${VERSION}"`, `"${NAME}": ${JSON.stringify(`file:${weir}`)}`),
  );
  step("npm create weir");
  run("npm", ["install", "--no-audit", "--no-fund"], project);
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
    server.once("exit", (code) => reject(new Error(`npm run dev ended with ${code}.\n${said}`)));
  });
  try {
    const token = await Promise.race([firstToken(`http://127.0.0.1:${port}`), ended]);
    step(`npm run dev, first token ${JSON.stringify(token)}`);
  } finally {
    ended.catch(() => {});
    if (server.pid) process.kill(-server.pid, "SIGTERM");
    await closed;
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

const total = steps.reduce((sum, [, seconds]) => sum + seconds, 0);
for (const [name, seconds] of [...steps, ["in all", total] as const])
  console.log(`${seconds.toFixed(1).padStart(6)} s  ${name}`);
if (total > Number(values.limit)) {
  console.error(`More than ${values.limit} s.`);
  process.exitCode = 1;
}
