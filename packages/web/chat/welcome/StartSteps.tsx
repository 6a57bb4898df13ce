/** First steps on a server where nothing has run: talk, see the trace, connect a program. */
import { type ReactNode, useState } from "react";
import { useProjects } from "../../api/queries.ts";
import { writeTracing } from "../../api/server.ts";
import { Command } from "../../resources/states.tsx";
import css from "./StartSteps.module.css";
import { postKey } from "../../console/keys/queries.ts";
import { useMay, useMe } from "../../api/me.ts";
import { Button } from "../../ui/Button.tsx";

/** Whether nothing has run in the workspace. False while that is unknown. */
export function useIsEmpty(): boolean {
  const projects = useProjects();
  return projects.data?.length === 0;
}

export function StartSteps({ talk, connect }: { talk: ReactNode; connect?: ReactNode }) {
  return (
    <ol className={css.steps} aria-label="First steps">
      <Step name="Talk to an agent">{talk}</Step>
      <Step name="See its trace">
        <p>Every run is traced: each step with its input, output, time and tokens. The trace is under the answer.</p>
      </Step>
      <Step name="Connect your program">{connect ?? <ConnectTracing />}</Step>
    </ol>
  );
}

function Step({ name, children }: { name: string; children: ReactNode }) {
  return (
    <li className={css.step}>
      <h3>{name}</h3>
      {children}
    </li>
  );
}

/** The variables with which a program that uses a LangSmith SDK sends its traces, with a new key in them. */
function ConnectTracing() {
  const fill = useNewKey();
  return (
    <>
      <p>A program that uses a LangSmith SDK sends its traces with these variables:</p>
      <Command text={writeTracing(fill.key)} />
      <FillKey fill={fill} />
    </>
  );
}

const DAYS_MS = 90 * 86_400_000;

/** A new API key in an example, so that it runs as it is copied. */
interface NewKey {
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
