import { useState } from "react";
import { useLocation } from "wouter";
import { useAction } from "../../api/me.ts";
import { Modal } from "../../ui/Modal.tsx";
import { Form, Input, Select } from "../../resources/Form.tsx";
import css from "../../resources/parts.module.css";
import { createDestination } from "./queries.ts";

type Kind = "r2" | "aws" | "other";

/** A destination is tried out by the server before it is kept, so that a wrong key shows here and not in an export. */
export function CreateDestination({ onClose }: { onClose: () => void }) {
  const [, navigate] = useLocation();
  const action = useAction("exports.manage");
  const [kind, setKind] = useState<Kind>("aws");
  const [fields, setFields] = useState({ name: "", bucket: "", prefix: "", region: "", endpoint: "" });
  const [keys, setKeys] = useState(EMPTY);
  const [tried, setTried] = useState(false);
  const field = (name: keyof typeof fields) => ({
    value: fields[name],
    onChange: (event: { target: { value: string } }) => setFields((now) => ({ ...now, [name]: event.target.value })),
  });
  const text = (name: keyof typeof fields) => fields[name].trim();
  const missing = {
    name: text("name") === "" ? "Give the destination a name." : undefined,
    bucket: kind !== "r2" && text("bucket") === "" ? "Name the bucket." : undefined,
    region: kind === "aws" && text("region") === "" ? "Name the region of the bucket." : undefined,
    endpoint: kind === "other" && text("endpoint") === "" ? "Give the address of the store." : undefined,
    keys: kind !== "r2" && (keys.id.trim() === "" || keys.secret === "") ? "Give both keys." : undefined,
  };
  const shown = (name: keyof typeof missing) => (tried ? missing[name] : undefined);
  const submit = async () => {
    setTried(true);
    if (Object.values(missing).some((one) => one !== undefined)) return;
    const made = await createDestination({
      destination_type: kind === "r2" ? "r2" : "s3",
      display_name: text("name"),
      config: {
        prefix: text("prefix"),
        ...(kind !== "r2" && {
          bucket_name: text("bucket"),
          ...(text("region") !== "" && { region: text("region") }),
          ...(kind === "other" && { endpoint_url: text("endpoint") }),
        }),
      },
      ...(kind !== "r2" && { credentials: sent(keys) }),
    });
    navigate(`/console/exports?destination=${made.id}`);
  };
  return (
    <Modal
      title="New destination"
      text="A small object is written to the bucket and removed, to check that exports can be written."
      onClose={onClose}
    >
      <Form action={action} submit="Check and create" onSubmit={submit} onCancel={onClose}>
        <div className={css.pair}>
          <Select label="Provider" value={kind} onChange={(event) => setKind(event.target.value as Kind)}>
            <option value="aws">AWS S3</option>
            <option value="other">Other store with the S3 API</option>
            <option value="r2">R2 bucket of this server</option>
          </Select>
          <Input label="Name" placeholder="Data lake" maxLength={255} error={shown("name")} {...field("name")} />
        </div>
        {kind === "other" && (
          <Input
            label="Endpoint"
            type="url"
            placeholder="https://<account id>.r2.cloudflarestorage.com"
            help="An https address of a public host: R2, MinIO, Ceph, Google Cloud Storage."
            error={shown("endpoint")}
            {...field("endpoint")}
          />
        )}
        {kind !== "r2" && (
          <div className={css.pair}>
            <Input label="Bucket" placeholder="my-bucket" error={shown("bucket")} {...field("bucket")} />
            <Input
              label={kind === "aws" ? "Region" : "Region (optional)"}
              placeholder={kind === "aws" ? "eu-west-1" : "auto"}
              error={shown("region")}
              {...field("region")}
            />
          </div>
        )}
        <Input
          label="Folder (optional)"
          placeholder="weir/traces"
          help="Everything is written below it."
          {...field("prefix")}
        />
        {kind !== "r2" && <Credentials keys={keys} error={shown("keys")} onKeys={setKeys} />}
      </Form>
    </Modal>
  );
}

interface Keys {
  id: string;
  secret: string;
  token: string;
}

export const EMPTY: Keys = { id: "", secret: "", token: "" };

/** Keys as the API takes them. */
export const sent = ({ id, secret, token }: Keys) => ({
  access_key_id: id.trim(),
  secret_access_key: secret,
  ...(token.trim() !== "" && { session_token: token.trim() }),
});

/** The keys of a bucket. They are encrypted by the server and never read back. */
export function Credentials({
  keys,
  error,
  onKeys,
}: {
  keys: Keys;
  error: string | undefined;
  onKeys: (keys: Keys) => void;
}) {
  return (
    <>
      <div className={css.pair}>
        <Input
          label="Access key ID"
          value={keys.id}
          error={error}
          onChange={(event) => onKeys({ ...keys, id: event.target.value })}
        />
        <Input
          label="Secret access key"
          type="password"
          autoComplete="new-password"
          value={keys.secret}
          help="Stored encrypted, and never shown."
          onChange={(event) => onKeys({ ...keys, secret: event.target.value })}
        />
      </div>
      <Input
        label="Session token (optional)"
        type="password"
        autoComplete="new-password"
        value={keys.token}
        onChange={(event) => onKeys({ ...keys, token: event.target.value })}
      />
    </>
  );
}
