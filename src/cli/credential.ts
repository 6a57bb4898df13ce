/** Which server the command line calls, and with which credential. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { FIRST_WORKSPACE_ID } from "./deploy/first-key.ts";
import { readKnown } from "./deploy/secrets.ts";
import { Fault } from "./fault.ts";

/** The origin of `--url`, or of the local server. @throws Fault for what is no address */
export function addressOf(given = `http://127.0.0.1:${process.env.PORT ?? 8787}`): string {
  if (!URL.canParse(given)) throw new Fault(`"${given}" is no address. Give one such as https://agent.example.`);
  return new URL(given).origin;
}

/** The credential for the address: of the environment, else of this folder's deployment with this address. */
export function credentialFor(url: string, workspaceId = FIRST_WORKSPACE_ID): { key?: string; workspaceId?: string } {
  if (process.env.WEIR_API_KEY) return { key: process.env.WEIR_API_KEY };
  const key = process.env.WEIR_ADMIN_KEY || knownAdminKey(url);
  return key ? { key, workspaceId } : {};
}

function knownAdminKey(url: string): string | undefined {
  const weirDir = join(process.cwd(), ".weir");
  const workers = filesIn(join(weirDir, "secrets")).filter((file) => file.endsWith(".json"));
  const known = workers.map((file) => readKnown(weirDir, file.slice(0, -".json".length)));
  return known.find((one) => one.url === url)?.WEIR_ADMIN_KEY;
}

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
