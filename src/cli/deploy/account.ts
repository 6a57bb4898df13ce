/** The Cloudflare account of a deployment, over Cloudflare's REST API. */
import { wrangler } from "../wrangler.ts";
import { CliFault } from "../console.ts";

const DEFAULT_BASE = "https://api.cloudflare.com/client/v4";

/** A call that Cloudflare refused: the HTTP status and Cloudflare's own error code. */
export class CloudflareError extends CliFault {
  readonly status: number;
  readonly code: number | undefined;
  constructor(call: string, status: number, errors: { code: number; message: string }[]) {
    const reasons = errors.map(({ code, message }) => `${message} [code: ${code}]`).join(" ");
    super(`Cloudflare refused ${call} with status ${status}. ${reasons}`.trim());
    this.status = status;
    this.code = errors[0]?.code;
  }
}

export interface Account {
  id: string;
  /** What Wrangler needs in its environment to act in the same account. */
  env: Record<string, string>;
  /**
   * Calls the API below the account and returns `result`.
   *
   * @throws CloudflareError when the answer is no success.
   */
  call<T>(method: "GET" | "POST", path: string, body?: unknown): Promise<T>;
  /** The same for GET, with undefined where there is no such thing (404). */
  find<T>(path: string): Promise<T | undefined>;
}

export interface AccountOptions {
  /** The project's folder, where Wrangler looks for a login profile. */
  cwd: string;
  /** `account_id` of the configuration. */
  accountId?: string;
  env?: NodeJS.ProcessEnv;
}

/**
 * The account of CLOUDFLARE_API_TOKEN, or of `wrangler login`. CLOUDFLARE_ACCOUNT_ID or `account_id` chooses among several.
 *
 * @throws Fault with what to do, where there is no login or no single account.
 */
export async function openAccount({ cwd, accountId, env = process.env }: AccountOptions): Promise<Account> {
  const base = env.CLOUDFLARE_API_BASE_URL ?? DEFAULT_BASE;
  const token = env.CLOUDFLARE_API_TOKEN ?? (await loginToken(cwd));
  const request = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const response = await fetch(`${base}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(body !== undefined && { "content-type": "application/json" }) },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(60_000),
    }).catch((error: unknown) => {
      throw new CliFault(
        `Cloudflare's API did not answer at ${new URL(base).host}. Check the network, then run again.`,
        {
          cause: error,
        },
      );
    });
    const text = await response.text();
    const answer = parseEnvelope(text);
    if (!response.ok || !answer?.success)
      throw new CloudflareError(`${method} ${path}`, response.status, answer?.errors ?? []);
    return answer.result as T;
  };
  const id = env.CLOUDFLARE_ACCOUNT_ID ?? accountId ?? (await onlyAccount(request));
  return {
    id,
    env: { CLOUDFLARE_ACCOUNT_ID: id },
    call: (method, path, body) => request(method, `/accounts/${id}${path}`, body),
    async find<T>(path: string) {
      try {
        return await request<T>("GET", `/accounts/${id}${path}`);
      } catch (error) {
        if (error instanceof CloudflareError && error.status === 404) return undefined;
        throw error;
      }
    },
  };
}

interface Envelope {
  success: boolean;
  errors: { code: number; message: string }[];
  result: unknown;
}

/** The answer as JSON; undefined where a proxy answered with something else. */
function parseEnvelope(text: string): Envelope | undefined {
  try {
    return JSON.parse(text) as Envelope;
  } catch {
    return undefined;
  }
}

async function loginToken(cwd: string): Promise<string> {
  const said = await wrangler(["auth", "token", "--json"], { cwd }).catch(() => "{}");
  const { token } = JSON.parse(said) as { token?: string };
  if (token) return token;
  throw new CliFault("Not logged in to Cloudflare. Run `npx wrangler login`, or set CLOUDFLARE_API_TOKEN.");
}

async function onlyAccount(request: <T>(method: string, path: string) => Promise<T>): Promise<string> {
  const accounts = await request<{ id: string; name: string }[]>("GET", "/accounts");
  const [first, ...others] = accounts;
  if (first && others.length === 0) return first.id;
  const names = accounts.map(({ id, name }) => `${id} (${name})`).join(", ");
  throw new CliFault(
    first
      ? `This login has several accounts: ${names}. Set CLOUDFLARE_ACCOUNT_ID to one of them.`
      : "This login has no account. Set CLOUDFLARE_ACCOUNT_ID, or make a token that may read the account.",
  );
}
