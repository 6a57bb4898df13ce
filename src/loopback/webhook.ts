/** A webhook that is a path of the project's own `app`, as runs and crons store it. */

/** The server makes this member; clients cannot set it. */
export interface OwnWebhook {
  /** The path and the query. */
  path: string;
  /** The absolute address of the path, which is also `webhook`: versions without this member call that address. */
  url: string;
}

export interface StoredWebhook {
  webhook?: string;
  own_webhook?: OwnWebhook;
}

/** The path to call in this server. Undefined for an address, also one that an earlier version has set in place of the path. */
export function readOwnPath({ webhook, own_webhook }: StoredWebhook): string | undefined {
  return own_webhook?.url === webhook ? own_webhook?.path : undefined;
}
