import { Button, Menu } from "@mantine/core";
import type { Role } from "@/api/keys";
import type { Member } from "@/api/members";
import type { Column } from "@/components/DataTable";
import { ago } from "@/lib/format";
import styles from "../Settings.module.css";
import { RoleSelect } from "./RoleSelect";

export type Acts = {
  onRole: (member: Member, role: Role) => void;
  onLink: (member: Member) => void;
  onPassword: (member: Member) => void;
  onRemove: (member: Member) => void;
};

const NAME: Column<Member> = {
  head: "Name",
  grow: true,
  cell: (one) => (
    <>
      {one.name} <span className={styles.none}>{one.email}</span>
    </>
  ),
};
const TIMES: Column<Member>[] = [
  {
    head: "Last seen",
    hide: "narrow",
    align: "right",
    cell: (one) => (one.last_seen_at ? ago(one.last_seen_at) : "never"),
  },
  { head: "Added", hide: "narrow", align: "right", cell: (one) => ago(one.created_at) },
];

const roleColumn = ({ onRole }: Acts): Column<Member> => ({
  head: "Role",
  cell: (one) => (
    <RoleSelect
      short
      size="xs"
      w={104}
      className={styles.rowActions}
      aria-label={`Role of ${one.name}`}
      value={one.role}
      onChange={(role) => onRole(one, role)}
    />
  ),
});

const actionColumn = ({ onLink, onPassword, onRemove }: Acts): Column<Member> => ({
  head: "Actions",
  align: "right",
  cell: (one) => (
    <span className={styles.rowActions}>
      <Menu position="bottom-end">
        <Menu.Target>
          <Button variant="default" size="compact-sm" aria-label={`More for ${one.name}`}>
            More
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => onLink(one)}>New sign-in link</Menu.Item>
          <Menu.Item onClick={() => onPassword(one)}>Link to set a password</Menu.Item>
          <Menu.Item onClick={() => onRemove(one)}>Remove from the project…</Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </span>
  ),
});

/** Who may sign in; with what an owner can do about it, when `acts` are given. */
export const memberColumns = (acts: Acts | null): Column<Member>[] =>
  acts
    ? [NAME, roleColumn(acts), ...TIMES, actionColumn(acts)]
    : [NAME, { head: "Role", cell: (one) => one.role }, ...TIMES];
