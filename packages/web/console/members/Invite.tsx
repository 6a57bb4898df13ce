import { useState } from "react";
import { useAction } from "../../resources/action.ts";
import { Modal } from "../../ui/Modal.tsx";
import { Form, Input, Select } from "../../resources/Form.tsx";
import css from "../../resources/parts.module.css";
import { RoleSelect } from "../../resources/RoleSelect.tsx";
import { invite, type NewInvitation } from "./queries.ts";

const DAY = 86_400;
const PERIODS = [
  { days: 1, name: "In a day" },
  { days: 7, name: "In a week" },
  { days: 30, name: "In 30 days" },
];

export function Invite({ onMade, onClose }: { onMade: (made: NewInvitation) => void; onClose: () => void }) {
  const action = useAction("members.manage");
  const [role, setRole] = useState("viewer");
  const [email, setEmail] = useState("");
  const [days, setDays] = useState(7);
  const submit = async () =>
    onMade(await invite({ role, email: email.trim() === "" ? null : email.trim(), expires_in_seconds: days * DAY }));
  return (
    <Modal
      title="Invite a person"
      text="You get a link. Who opens it and signs in becomes a member, once."
      onClose={onClose}
    >
      <Form action={action} submit="Create link" onSubmit={submit} onCancel={onClose}>
        <RoleSelect value={role} onChange={setRole} />
        <div className={css.pair}>
          <Input
            label="E-mail address (optional)"
            type="email"
            value={email}
            maxLength={320}
            placeholder="ann@example.com"
            help="Only a person whose address the provider confirms may accept. Leave empty to allow any person with the link."
            onChange={(event) => setEmail(event.target.value)}
          />
          <Select label="Expires" value={days} onChange={(event) => setDays(Number(event.target.value))}>
            {PERIODS.map((one) => (
              <option key={one.days} value={one.days}>
                {one.name}
              </option>
            ))}
          </Select>
        </div>
      </Form>
    </Modal>
  );
}
