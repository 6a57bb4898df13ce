import { useState } from "react";
import { useMe, useAction } from "../../api/me.ts";
import { Modal } from "../../ui/Modal.tsx";
import { Form, Input, Select } from "../../resources/Form.tsx";
import css from "../../resources/parts.module.css";
import { RoleSelect } from "../../resources/RoleSelect.tsx";
import { expiryTime, parseNetworks, PERIODS } from "./expiry.ts";
import { createKey, type NewKey, SCOPES } from "./queries.ts";

export function CreateKey({ onMade, onClose }: { onMade: (made: NewKey) => void; onClose: () => void }) {
  const action = useAction("keys.manage");
  const [name, setName] = useState("");
  const { data: me } = useMe();
  const [role, setRole] = useState(me?.role ?? "");
  const [scopes, setScopes] = useState<string[]>(["read", "write"]);
  const [period, setPeriod] = useState<string>("90");
  const [networks, setNetworks] = useState("");
  const [tried, setTried] = useState(false);
  const nameless = name.trim() === "";
  const submit = async () => {
    setTried(true);
    if (nameless || (role === "" && scopes.length === 0)) return;
    const allowed_ips = parseNetworks(networks);
    const rights = role === "" ? { scopes, role: null } : { role };
    onMade(await createKey({ ...rights, name: name.trim(), expires_at: expiryTime(period, Date.now()), allowed_ips }));
  };
  return (
    <Modal
      title="New API key"
      text="A program sends it as X-API-Key. It works in this workspace only."
      onClose={onClose}
    >
      <Form action={action} submit="Create key" onSubmit={submit} onCancel={onClose}>
        <Input
          label="Name"
          value={name}
          maxLength={200}
          placeholder="nightly export"
          help="Say where the key is used, so that you know later what stops without it."
          error={tried && nameless ? "Give the key a name." : undefined}
          onChange={(event) => setName(event.target.value)}
        />
        <RoleSelect
          value={role}
          // A caller with a role makes keys with a role only.
          none={me?.role == null ? "None: all that its scopes allow" : undefined}
          help="A role allows some permissions of the scopes. A changed role holds for all its keys at once."
          onChange={setRole}
        />
        {role === "" && (
          <fieldset className={css.choices}>
            <legend>Scopes</legend>
            {SCOPES.map(({ scope, means }) => (
              <label key={scope} className={css.choice}>
                <input
                  type="checkbox"
                  checked={scopes.includes(scope)}
                  onChange={() =>
                    setScopes((now) => (now.includes(scope) ? now.filter((one) => one !== scope) : [...now, scope]))
                  }
                />
                <span>
                  {scope}
                  <small>{means}</small>
                </span>
              </label>
            ))}
            {tried && scopes.length === 0 && <p className={css.trouble}>Choose at least one scope.</p>}
          </fieldset>
        )}
        <div className={css.pair}>
          <Select label="Expires" value={period} onChange={(event) => setPeriod(event.target.value)}>
            {PERIODS.map(({ key, name: title }) => (
              <option key={key} value={key}>
                {title}
              </option>
            ))}
          </Select>
          <Input
            label="Networks (optional)"
            value={networks}
            placeholder="192.0.2.0/24"
            help="Addresses or CIDR networks that may use the key. Leave empty to allow any address."
            onChange={(event) => setNetworks(event.target.value)}
          />
        </div>
      </Form>
    </Modal>
  );
}
