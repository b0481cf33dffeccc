-- A hospital that was made up, as people have their databases: domains, enumerations, partitions, comments, keys.
CREATE DOMAIN region_code AS varchar(20);
CREATE DOMAIN amount AS numeric(10, 2) CHECK (VALUE >= 0);
CREATE TYPE sex AS ENUM ('female', 'male', 'other');
CREATE TABLE departments (department_id smallint PRIMARY KEY, name varchar(40) NOT NULL);
COMMENT ON TABLE departments IS 'the hospital''s departments';
CREATE TABLE patients (
  patient_id integer PRIMARY KEY, born date NOT NULL, sex sex, region region_code NOT NULL, photo bytea);
COMMENT ON TABLE patients IS 'one row per person';
COMMENT ON COLUMN patients.region IS 'where they live';
CREATE TABLE admissions (
  admission_id bigint PRIMARY KEY, patient_id integer NOT NULL REFERENCES patients,
  department_id smallint NOT NULL REFERENCES departments, admitted timestamp NOT NULL, days integer NOT NULL, cost amount);
CREATE TABLE labs (
  lab_id bigint NOT NULL, admission_id bigint NOT NULL REFERENCES admissions, test varchar(10) NOT NULL,
  value double precision, taken timestamp NOT NULL, PRIMARY KEY (lab_id, taken)) PARTITION BY RANGE (taken);
CREATE TABLE labs_2024 PARTITION OF labs FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
CREATE TABLE labs_2025 PARTITION OF labs FOR VALUES FROM ('2025-01-01') TO ('2026-01-01');
CREATE SCHEMA billing;
CREATE TABLE billing.invoices (invoice_id bigint PRIMARY KEY, patient_id integer REFERENCES patients, total amount);

-- Rows.
INSERT INTO departments SELECT n, (ARRAY['Surgery', 'Cardiology', 'Oncology', 'Paediatrics'])[n] FROM generate_series(1, 4) n;
INSERT INTO patients SELECT n, date '1930-01-01' + n * 7919 % 34000, (ARRAY['female', 'male', 'other', NULL])[1 + n % 4]::sex,
  (ARRAY['North', 'South', 'East', 'West'])[1 + n * 31 % 4], NULL FROM generate_series(1, 20000) n;
INSERT INTO admissions SELECT n, 1 + n * 7907 % 20000, 1 + n % 4, timestamp '2024-01-01'
  + n * 211 % 730 * interval '1 day', 1 + n % 20, (n * 37 % 9000)::numeric FROM generate_series(1, 20000 * 2) n;
INSERT INTO labs SELECT n, 1 + n::bigint * 104729 % (20000 * 2), (ARRAY['Na', 'K', 'Hb'])[1 + n % 3], n * 17 % 150,
  timestamp '2024-01-01' + n * 13 % 730 * interval '1 day' FROM generate_series(1, 20000 * 3) n;
