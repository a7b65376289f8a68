CREATE TABLE `deliveries` (
	`site_id` integer NOT NULL,
	`webhook_id` text NOT NULL,
	`seq` integer NOT NULL,
	`status` text NOT NULL,
	`attempts` integer NOT NULL,
	`next_attempt_at` integer,
	`claim` text,
	`last_status` integer,
	`last_error` text,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`site_id`, `webhook_id`, `seq`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `deliveries_due` ON `deliveries` (`site_id`,`webhook_id`,`next_attempt_at`) WHERE `status` = 'pending';--> statement-breakpoint
CREATE INDEX `deliveries_failed` ON `deliveries` (`site_id`,`webhook_id`,`seq`) WHERE `status` = 'failed';--> statement-breakpoint
CREATE TABLE `events` (
	`site_id` integer NOT NULL,
	`seq` integer NOT NULL,
	`id` text NOT NULL,
	`type` text NOT NULL,
	`session_id` integer,
	`created_at` integer NOT NULL,
	`data` text,
	PRIMARY KEY(`site_id`, `seq`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `webhooks` (
	`site_id` integer NOT NULL,
	`id` text NOT NULL,
	`url` text NOT NULL,
	`events` text NOT NULL,
	`status` text NOT NULL,
	`disabled_reason` text,
	`version` text NOT NULL,
	`secret` text NOT NULL,
	`previous_version` text,
	`previous_secret` text,
	`previous_expires_at` integer,
	`failing_since` integer,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`site_id`, `id`),
	FOREIGN KEY (`site_id`) REFERENCES `home_sites`(`site_id`) ON UPDATE no action ON DELETE no action
) WITHOUT ROWID;
--> statement-breakpoint
ALTER TABLE `home_sites` ADD `events` integer DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE `home_sites` ADD `event_seq_floor` integer DEFAULT 0 NOT NULL;