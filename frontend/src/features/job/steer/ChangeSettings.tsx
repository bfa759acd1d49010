import { Button, Group, Modal } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { type JobSetting, settingsQuery, useChangeSettings } from "@/api/job-changes";
import { Failure } from "@/components/Failure";
import { Skeleton } from "@/components/Skeleton";
import { NumberText } from "@/components/spec/Control";
import type { Json } from "@/lib/paths";
import { valueText } from "@/lib/spec-values";
import { isWrong } from "../forks/fork-body";
import styles from "./ChangeSettings.module.css";
import { changedSettings } from "./change-settings";

type Values = Record<string, Json | undefined>;

function Row({
  setting,
  value,
  onChange,
}: {
  setting: JobSetting;
  value: Json | undefined;
  onChange: (value: Json | undefined) => void;
}) {
  const id = `change-${setting.setting}`;
  return (
    <div className={styles.row}>
      <label htmlFor={id}>{setting.title}</label>
      <code>{setting.setting}</code>
      <NumberText
        id={id}
        label={setting.title}
        placeholder={valueText(setting.value)}
        value={value}
        invalid={isWrong(value)}
        disabled={false}
        onChange={onChange}
      />
    </div>
  );
}

type Props = { job: string; opened: boolean; onClose: () => void };

/** Numbers of the specification that the trainer takes up between two steps. */
export function ChangeSettings({ job, opened, onClose }: Props) {
  const settings = useQuery({ ...settingsQuery(job), enabled: opened });
  const change = useChangeSettings(job);
  const [values, setValues] = useState<Values>({});
  const changes = changedSettings(settings.data?.data ?? [], values);
  const close = () => {
    setValues({});
    change.reset();
    onClose();
  };
  return (
    <Modal opened={opened} onClose={close} title="Change from the next step" size="lg">
      <p className={styles.about}>
        The current step finishes with the old values. Curves show a mark, and a resumed job applies the
        change at the same step.
      </p>
      {settings.isError && <Failure title="Could not load the settings" error={settings.error} />}
      {settings.data ? (
        settings.data.data.map((setting) => (
          <Row
            key={setting.setting}
            setting={setting}
            value={values[setting.setting]}
            onChange={(value) => setValues((old) => ({ ...old, [setting.setting]: value }))}
          />
        ))
      ) : (
        <Skeleton height={120} />
      )}
      {change.error && <Failure title="Could not change all settings" error={change.error} />}
      <Group justify="flex-end" mt="md" gap={8}>
        <Button variant="default" onClick={close}>
          Cancel
        </Button>
        <Button
          disabled={changes === null || changes.length === 0}
          loading={change.isPending}
          onClick={() => changes && change.mutate(changes, { onSuccess: close })}
        >
          {changes && changes.length > 1 ? `Change ${changes.length} settings` : "Change"}
        </Button>
      </Group>
    </Modal>
  );
}
