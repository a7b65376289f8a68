CREATE TABLE `console_forms` (
	`id` text PRIMARY KEY NOT NULL,
	`session_id` text NOT NULL,
	`location` text,
	`expires_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `console_sessions` (
	`id` text PRIMARY KEY NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `jobs` (
	`name` text PRIMARY KEY NOT NULL,
	`place` text NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `__new_apps` (
	`appid` text PRIMARY KEY NOT NULL,
	`site_id` integer NOT NULL,
	`name` text NOT NULL,
	`version` text NOT NULL,
	`secret` text NOT NULL,
	`previous_version` text,
	`previous_secret` text,
	`previous_expires_at` integer,
	`revoked_at` integer,
	`created_at` integer NOT NULL,
	FOREIGN KEY (`site_id`) REFERENCES `sites`(`id`) ON UPDATE no action ON DELETE no action
) WITHOUT ROWID;
--> statement-breakpoint
INSERT INTO `__new_apps`("appid", "site_id", "name", "version", "secret", "previous_version", "previous_secret", "previous_expires_at", "revoked_at", "created_at") SELECT "appid", "site_id", "name", lower(hex(randomblob(16))), "secret", CASE WHEN "previous_secret" IS NOT NULL THEN lower(hex(randomblob(16))) END, "previous_secret", "previous_expires_at", "revoked_at", "created_at" FROM `apps`;--> statement-breakpoint
DROP TABLE `apps`;--> statement-breakpoint
ALTER TABLE `__new_apps` RENAME TO `apps`;--> statement-breakpoint
CREATE INDEX `apps_by_site` ON `apps` (`site_id`);--> statement-breakpoint
CREATE TABLE `__new_nonces` (
	`appid` text NOT NULL,
	`ranstr` text NOT NULL,
	`owner` text NOT NULL,
	`attempt` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`outcome` text NOT NULL,
	`session_id` integer,
	PRIMARY KEY(`appid`, `ranstr`)
) WITHOUT ROWID;
--> statement-breakpoint
INSERT INTO `__new_nonces`("appid", "ranstr", "owner", "attempt", "expires_at", "outcome", "session_id") SELECT "appid", "ranstr", "owner", 1, "expires_at" + 1800, "outcome", "session_id" FROM `nonces`;--> statement-breakpoint
DROP TABLE `nonces`;--> statement-breakpoint
ALTER TABLE `__new_nonces` RENAME TO `nonces`;
