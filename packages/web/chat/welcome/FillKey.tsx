/** A new API key in an example, so that it runs as it is copied. */
import { useState } from "react";
import { postKey } from "../../api/keys.ts";
import { useMay, useMe } from "../../api/me.ts";
import { Button } from "../../ui/Button.tsx";
import css from "./StartSteps.module.css";

const DAYS_MS = 90 * 86_400_000;

export interface NewKey {
  key: string | undefined;
  create: () => void;
  creating: boolean;
  error: string | undefined;
}

export function useNewKey(): NewKey {
  const { data: me } = useMe();
  const [key, setKey] = useState<string>();
  const [creating, setCreating] = useState(false);
  const [error, setError] = useState<string>();
  const create = () => {
    setCreating(true);
    setError(undefined);
    postKey({
      name: "First program",
      // A caller with a role makes keys with a role only.
      ...(me?.role == null ? { scopes: ["read", "write"], role: null } : { role: me.role }),
      expires_at: new Date(Date.now() + DAYS_MS).toISOString(),
      allowed_ips: null,
    })
      .then((created) => setKey(created.key))
      .catch((reason: unknown) => setError(reason instanceof Error ? reason.message : "The key was not created."))
      .finally(() => setCreating(false));
  };
  return { key, create, creating, error };
}

export function FillKey({ fill: { key, create, creating, error } }: { fill: NewKey }) {
  const may = useMay();
  if (!may("keys.manage")) return null;
  if (key !== undefined)
    return (
      <p className={css.filled} role="status">
        The key “First program” is filled in. It is shown only now, and ends in 90 days.
      </p>
    );
  return (
    <div className={css.fill}>
      <Button disabled={creating} onClick={create}>
        Create a key and fill it in
      </Button>
      {error !== undefined && <span role="alert">{error}</span>}
    </div>
  );
}
