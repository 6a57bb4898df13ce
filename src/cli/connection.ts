/** Which server a command calls, and with which credential. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { FIRST_WORKSPACE_ID, readStoredSecrets } from "./deploy/secrets.ts";
import { CliFault } from "./console.ts";

/** The options that choose the server and the workspace. */
export const CONNECTION = { url: { type: "string" }, workspace: { type: "string" } } as const;

/** What the help of a command says about its credential. `scopes`: what an API key needs. */
export const CREDENTIAL_HELP = (scopes: string): string =>
  `The credential is WEIR_API_KEY (a key with ${scopes}) or WEIR_ADMIN_KEY. If neither is set, it is the admin key that
this folder's \`weir deploy\` made for the address. A local server with AUTH=open needs none.`;

/** The address and the credential that the options name. @throws Fault for what is no address */
export function connectionFor({ url: given, workspace }: { url?: string; workspace?: string }) {
  const url = readAddress(given);
  return { url, ...credentialFor(url, workspace) };
}

function readAddress(given = `http://127.0.0.1:${process.env.PORT ?? 8787}`): string {
  if (!URL.canParse(given)) throw new CliFault(`"${given}" is no address. Give one such as https://agent.example.`);
  return new URL(given).origin;
}

/** The credential for the address: of the environment, else of this folder's deployment with this address. */
function credentialFor(url: string, workspaceId = FIRST_WORKSPACE_ID): { key?: string; workspaceId?: string } {
  if (process.env.WEIR_API_KEY) return { key: process.env.WEIR_API_KEY };
  const key = process.env.WEIR_ADMIN_KEY || knownAdminKey(url);
  return key ? { key, workspaceId } : {};
}

function knownAdminKey(url: string): string | undefined {
  const weirDir = join(process.cwd(), ".weir");
  const workers = filesIn(join(weirDir, "secrets")).filter((file) => file.endsWith(".json"));
  const known = workers.map((file) => readStoredSecrets(weirDir, file.slice(0, -".json".length)));
  return known.find((one) => one.url === url)?.WEIR_ADMIN_KEY;
}

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
