/** One key: all that is known of it, a successor for it, and its end. */
import { useState } from "react";
import { currentSession } from "../../api/session.ts";
import { useAction } from "../../api/me.ts";
import { Button } from "../../ui/Button.tsx";
import { Confirm } from "../../resources/Confirm.tsx";
import { Modal } from "../../ui/Modal.tsx";
import { exactTime } from "../../ui/time.ts";
import { Fields } from "../../resources/Fields.tsx";
import { Form, Select } from "../../resources/Form.tsx";
import css from "../../resources/parts.module.css";
import { Time } from "../../ui/Time.tsx";
import { expiryText } from "./expiry.ts";
import { RoleSelect } from "../../resources/RoleSelect.tsx";
import { changeKeyRole, deleteKey, type Key, type NewKey, rollKey, useApiKeys } from "./queries.ts";

type Step = "facts" | "role" | "roll" | "delete";

export function KeyDetails({
  apiKey,
  onRolled,
  onClose,
}: {
  apiKey: Key;
  onRolled: (made: NewKey) => void;
  onClose: () => void;
}) {
  const [step, setStep] = useState<Step>("facts");
  const { id, name, hint, scopes, created_at, expires_at, last_used_at, allowed_ips, end_reason } = apiKey;
  const [both, setBoth] = useState(true);
  const { data: keys = [] } = useApiKeys();
  const replaced = keys.filter(
    (one) => one.successor_id === id && expiryText(one.expires_at, Date.now()) !== "expired",
  );
  const expired = expiryText(expires_at, Date.now()) === "expired";
  if (step === "delete")
    return (
      <Confirm
        title={`Revoke “${name}”?`}
        text={
          <>
            Programs that use it are refused at once, and applications that were allowed with it lose their access.
            {isOwn(apiKey) && " You are signed in with this key: you have to sign in again."} This cannot be undone.
            {replaced.length > 0 && (
              <label>
                <input type="checkbox" checked={both} onChange={(event) => setBoth(event.target.checked)} /> Also revoke{" "}
                {replaced.map((one) => `“${one.name}” (${one.hint}…)`).join(", ")}, which it replaced and which still
                works
              </label>
            )}
          </>
        }
        act="Revoke key"
        needs="keys.manage"
        onAct={() => deleteKey(id, replaced.length > 0 && both)}
        onClose={onClose}
      />
    );
  if (step === "role") return <ChangeRole apiKey={apiKey} onClose={() => setStep("facts")} />;
  if (step === "roll") return <Roll apiKey={apiKey} onRolled={onRolled} onClose={() => setStep("facts")} />;
  return (
    <Modal title={name} onClose={onClose}>
      <Fields
        fields={{
          Key: <span className={css.mono}>{hint}…</span>,
          Scopes: scopes.join(", "),
          ...(apiKey.role !== null && { Role: apiKey.role }),
          Expires: expires_at === null ? "never" : `${exactTime(expires_at)} (${expiryText(expires_at, Date.now())})`,
          ...(end_reason && { Ended: ENDS[end_reason] }),
          Networks: allowed_ips === null ? "any" : allowed_ips.join(", "),
          "Last used": last_used_at === null ? "not yet" : <Time at={last_used_at} exact />,
          Created: <Time at={created_at} exact />,
          Id: <span className={css.mono}>{id}</span>,
        }}
      />
      <div className={css.acts}>
        {!expired && <Button onClick={() => setStep("role")}>Change role…</Button>}
        {!expired && <Button onClick={() => setStep("roll")}>Replace key…</Button>}
        <Button look="danger" onClick={() => setStep("delete")}>
          Revoke key…
        </Button>
      </div>
    </Modal>
  );
}

const ENDS: Record<NonNullable<Key["end_reason"]>, string> = {
  grant_revoked: "the access of its application was taken back",
  grant_expired: "the key that allowed its application expired",
  grant_lapsed: "its application did not use its access for 30 days",
};

function ChangeRole({ apiKey, onClose }: { apiKey: Key; onClose: () => void }) {
  const action = useAction("keys.manage");
  const [role, setRole] = useState(apiKey.role ?? "");
  return (
    <Modal
      title={`Role of “${apiKey.name}”`}
      text="The key uses only the permissions of its role, as far as its scopes have them."
      onClose={onClose}
    >
      <Form
        action={action}
        submit="Save role"
        onSubmit={async () => {
          await changeKeyRole(apiKey.id, role === "" ? null : role);
          onClose();
        }}
        onCancel={onClose}
      >
        <RoleSelect value={role} none="None: all that its scopes allow" onChange={setRole} />
      </Form>
    </Modal>
  );
}

const OVERLAPS = [
  { seconds: 0, name: "Ends at once" },
  { seconds: 3_600, name: "Works for another hour" },
  { seconds: 86_400, name: "Works for another day" },
  { seconds: 604_800, name: "Works for another week" },
];

function Roll({ apiKey, onRolled, onClose }: { apiKey: Key; onRolled: (made: NewKey) => void; onClose: () => void }) {
  const action = useAction("keys.manage");
  const [seconds, setSeconds] = useState(86_400);
  return (
    <Modal
      title={`Replace “${apiKey.name}”`}
      text="The new key has the same name, scopes, expiry and networks. Change it where the old one is used before that ends."
      onClose={onClose}
    >
      <Form
        action={action}
        submit="Create new key"
        onSubmit={async () => onRolled(await rollKey(apiKey.id, seconds))}
        onCancel={onClose}
      >
        <Select label="Old key" value={seconds} onChange={(event) => setSeconds(Number(event.target.value))}>
          {OVERLAPS.map((one) => (
            <option key={one.seconds} value={one.seconds}>
              {one.name}
            </option>
          ))}
        </Select>
      </Form>
    </Modal>
  );
}

/** Whether this tab is signed in with the key. */
export function isOwn({ hint }: Key): boolean {
  const session = currentSession();
  return session?.kind === "key" && session.secret.startsWith(hint);
}
