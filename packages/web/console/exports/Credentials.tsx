import { Input } from "../../resources/Form.tsx";
import css from "../../resources/parts.module.css";

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
