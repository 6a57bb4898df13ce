/** The choice of a role: the built-in ones, and the workspace's own. */
import { useQuery } from "@tanstack/react-query";
import { call } from "../api/http.ts";
import { useMe } from "../api/me.ts";
import { Select } from "./Form.tsx";

interface Role {
  name: string;
  permissions: string[];
  built_in: boolean;
}

const MEANING: Record<string, string> = {
  viewer: "reads",
  annotator: "reads, gives feedback, changes datasets",
  developer: "reads and writes",
  admin: "does everything",
};

function useRoles() {
  return useQuery({
    queryKey: ["roles"],
    queryFn: ({ signal }) => call<Role[]>("GET", "/api/v1/roles", undefined, signal),
  });
}

export function RoleSelect({
  value,
  none,
  help,
  onChange,
}: {
  /** Empty: no role. */
  value: string;
  /** The meaning of no choice. Left out: one must be chosen. */
  none?: string;
  help?: string;
  onChange: (role: string) => void;
}) {
  const { data: roles = [] } = useRoles();
  const { data: me } = useMe();
  // The server refuses to give more than the caller has.
  const isMore = ({ permissions }: Role) =>
    permissions.some((one) => !(me?.permissions as string[] | undefined)?.includes(one));
  return (
    <Select label="Role" value={value} help={help} onChange={(event) => onChange(event.target.value)}>
      {none !== undefined && <option value="">{none}</option>}
      {value !== "" && !roles.some(({ name }) => name === value) && <option value={value}>{value}</option>}
      {roles.map((role) => (
        <option key={role.name} value={role.name} disabled={me !== undefined && isMore(role)}>
          {role.built_in ? `${role.name} (${MEANING[role.name] ?? "built in"})` : role.name}
        </option>
      ))}
    </Select>
  );
}
