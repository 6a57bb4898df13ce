/** The people of the workspace, and who is invited. */
import { useState } from "react";
import { Link, useLocation } from "wouter";
import { useMe, useAction } from "../../api/me.ts";
import { resolveAddress } from "../../api/server.ts";
import type { ViewProps } from "../../app/view-props.ts";
import { Page } from "../../resources/Page.tsx";
import { Empty, Loaded } from "../../resources/states.tsx";
import { type Column, Table } from "../../ui/Table.tsx";
import { Time } from "../../ui/Time.tsx";
import { Button } from "../../ui/Button.tsx";
import { Missing, Secret } from "../../resources/Secret.tsx";
import css from "../../resources/parts.module.css";
import { Section } from "../../resources/Fields.tsx";
import { MemberDetails } from "./MemberDetails.tsx";
import {
  type Invitation,
  type Member,
  memberName,
  type NewInvitation,
  invitationState,
  takeBack,
  useInvitations,
  useMembers,
  invite,
} from "./queries.ts";
import { Modal } from "../../ui/Modal.tsx";
import { Form, Input, Select } from "../../resources/Form.tsx";
import { RoleSelect } from "../../resources/RoleSelect.tsx";

const PATH = "/console/members";

export default function Members({ id }: ViewProps) {
  const [, navigate] = useLocation();
  const members = useMembers();
  const invitations = useInvitations();
  const [made, setMade] = useState<NewInvitation>();
  const close = () => navigate(PATH);
  const open = members.data?.find((member) => member.id === id);
  return (
    <Page
      title="Members"
      purpose="People with a role in this workspace."
      actions={
        <Button look="filled" onClick={() => navigate(`${PATH}/new`)}>
          Invite
        </Button>
      }
    >
      <Loaded query={members} what="members">
        {(rows) =>
          rows.length === 0 ? (
            <Empty
              title="No members yet."
              text="Invite a person by a link. People sign in by the OpenID provider of this server."
            />
          ) : (
            <Table
              label="Members"
              columns={COLUMNS}
              rows={rows}
              rowKey={memberKey}
              openKey={id}
              onOpen={(row) => navigate(`${PATH}/${row.id}`)}
            />
          )
        }
      </Loaded>
      <Section title="Invitations">
        <Loaded query={invitations} what="invitations" rows={2}>
          {(rows) =>
            rows.length === 0 ? (
              <p className={css.note}>No person is invited.</p>
            ) : (
              <Table label="Invitations" columns={INVITED} rows={rows} rowKey={memberKey} />
            )
          }
        </Loaded>
      </Section>
      {id === "new" && (
        <Invite
          onMade={(one) => {
            setMade(one);
            close();
          }}
          onClose={close}
        />
      )}
      {open && <MemberDetails key={open.id} member={open} onClose={close} />}
      {id !== undefined && id !== "new" && members.data && !open && <Missing what="member" onClose={close} />}
      {made && (
        <Secret
          title="Invitation"
          text="Copy the link now: it is not shown again. Who has it becomes a member with the role that you chose."
          secret={made.url}
          onDone={() => setMade(undefined)}
        />
      )}
      <Workspaces />
    </Page>
  );
}

const memberKey = ({ id }: { id: string }) => id;

/** The other workspaces of the person. Changing to one is another sign-in, which the provider knows the person for. */
function Workspaces() {
  const { data: me } = useMe();
  const others = me?.member?.workspaces.filter(({ id }) => id !== me.workspace.id) ?? [];
  if (!me?.member) return null;
  return (
    <>
      <h2>You</h2>
      <p>
        {memberName(me.member)}, {me.role} in {me.workspace.name ?? me.workspace.id}
      </p>
      {others.length > 0 && <h2>Your other workspaces</h2>}
      {others.map(({ id, name }) => (
        <p key={id}>
          <a href={resolveAddress(`/oauth/openid/sign-in?${new URLSearchParams({ workspace: id })}`)}>{name}</a>
        </p>
      ))}
    </>
  );
}

const COLUMNS: Column<Member>[] = [
  {
    id: "name",
    name: "Member",
    width: 200,
    kept: true,
    grows: true,
    cell: (row) => <Link href={`${PATH}/${row.id}`}>{memberName(row)}</Link>,
  },
  { id: "role", name: "Role", width: 120, kept: true, cell: ({ role }) => role },
  {
    id: "signed-in",
    name: "Last sign-in",
    width: 104,
    end: true,
    cell: ({ signed_in_at }) => (signed_in_at === null ? "not yet" : <Time at={signed_in_at} />),
  },
  { id: "since", name: "Since", width: 88, end: true, cell: ({ created_at }) => <Time at={created_at} /> },
];

const INVITED: Column<Invitation>[] = [
  {
    id: "for",
    name: "For",
    width: 200,
    kept: true,
    grows: true,
    cell: ({ email }) => email ?? "who has the link",
  },
  { id: "role", name: "Role", width: 120, kept: true, cell: ({ role }) => role },
  { id: "state", name: "State", width: 88, cell: (row) => invitationState(row, Date.now()) },
  { id: "created", name: "Created", width: 88, end: true, cell: ({ created_at }) => <Time at={created_at} /> },
  { id: "end", name: "", width: 104, kept: true, end: true, cell: (row) => <TakeBack invitation={row} /> },
];

function TakeBack({ invitation }: { invitation: Invitation }) {
  const action = useAction("members.manage");
  if (invitationState(invitation, Date.now()) !== "open") return null;
  return (
    <Button
      look="quiet"
      disabled={action.busy}
      title={action.trouble === "" ? undefined : action.trouble}
      onClick={() => void action.run(() => takeBack(invitation.id))}
    >
      Take back
    </Button>
  );
}

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
