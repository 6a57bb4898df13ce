/** The server under test: the built Worker with worker.ts, in a process group of its own. */
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { serve } from "../../scripts/local-server.ts";
import { quietPort } from "../../test/support/ports.ts";
import { CrossingsWatch } from "../../test/support/edge-limits/watch.ts";
import { newState } from "../../test/support/new-state.ts";
import { startOpenIdProvider } from "../../test/support/openid-provider.ts";
import { SECRETS, withMain } from "../../test/support/server.ts";

const USERS_WORKSPACE = "00000000-0000-4000-8000-00000000f022";

/** Megabytes of an isolate's heap. The Worker and all its objects share one here; on Cloudflare an isolate has 128 MB. */
const CAP = "--max-old-space-size=256";

/** Writes the Worker's configuration. Rate limits do not stop the fuzzer: they have tests of their own. */
function configuration(): string {
  const file = withMain("tools/fuzz/worker.ts", "fuzz");
  const text = readFileSync(file, "utf8").replaceAll(/simple = \{ limit = [\d_]+/g, "simple = { limit = 100_000_000");
  const unlimited = file.replace("wrangler.fuzz", "wrangler.fuzz-unlimited");
  // A server that runs on it restarts when the file is written.
  if (!existsSync(unlimited) || readFileSync(unlimited, "utf8") !== text) writeFileSync(unlimited, text);
  return unlimited;
}

export async function startFuzzed() {
  const config = configuration();
  const persistTo = await newState(config);
  const envFile = join(persistTo, "secrets.env");
  const provider = await startOpenIdProvider();
  const vars = {
    ...SECRETS,
    AUTH_WORKSPACE_ID: USERS_WORKSPACE,
    OFFLINE_MODEL_DELAY_MS: "0",
    OIDC_ISSUER: provider.issuer,
    OIDC_CLIENT_ID: provider.client.id,
    OIDC_CLIENT_SECRET: provider.client.secret,
  };
  writeFileSync(
    envFile,
    Object.entries(vars)
      .map(([name, value]) => `${name}="${value}"`)
      .join("\n"),
  );
  const port = await quietPort();
  const watch = new CrossingsWatch(`http://127.0.0.1:${port}`);
  const errors: string[] = [];
  const onOutput = (text: string) => {
    watch.onOutput(text);
    for (const line of text.split("\n")) if (line.includes('"level":"error"')) errors.push(line.slice(0, 1_000));
  };
  const weir = await serve({ port, persistTo, envFile, config, v8Flags: CAP, onOutput, group: "own" });
  return {
    url: weir.url,
    pid: weir.pid,
    adminKey: SECRETS.WEIR_ADMIN_KEY,
    users: USERS_WORKSPACE,
    /** The errors that the server logged. */
    errors,
    crossings: () => watch.take(),
    async stop() {
      await weir.stop("SIGKILL");
      await provider.stop();
      rmSync(persistTo, { recursive: true, force: true });
    },
  };
}
