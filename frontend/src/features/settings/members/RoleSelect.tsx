import { NativeSelect, type NativeSelectProps } from "@mantine/core";
import type { Role } from "@/api/keys";

const ROLES: { value: Role; label: string }[] = [
  { value: "viewer", label: "Viewer: can read" },
  { value: "editor", label: "Editor: can also change things" },
  { value: "owner", label: "Owner: can also manage members and keys" },
];
const SHORT = ROLES.map(({ value, label }) => ({ value, label: label.split(":")[0] as string }));

type Props = Omit<NativeSelectProps, "data" | "value" | "onChange"> & {
  value: Role;
  onChange: (role: Role) => void;
  /** Without what each role may do, for a table. */
  short?: boolean;
};

export function RoleSelect({ value, onChange, short = false, ...rest }: Props) {
  return (
    <NativeSelect
      data={short ? SHORT : ROLES}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value as Role)}
      {...rest}
    />
  );
}
