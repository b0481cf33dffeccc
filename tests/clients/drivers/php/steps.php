<?php
// PDO: statements prepared on the server, parameters as text or with PDO's own types.
const WHERE = 'SELECT current_user, current_database()';

function env(string $name): string { return getenv("ASK_$name"); }

function connect(string $more): PDO
{
    $where = 'host=' . env('HOST') . ';port=' . env('PORT') . ';dbname=' . env('DATABASE');
    return new PDO("pgsql:$where;$more", env('USER'), env('PASSWORD'), [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]);
}

$session = connect('sslmode=require');

function ask(string $statement, mixed ...$values): array
{
    global $session;
    $asked = $session->prepare($statement);
    foreach ($values as $n => $value) {
        $kind = is_bool($value) ? PDO::PARAM_BOOL : (is_int($value) ? PDO::PARAM_INT : (is_null($value) ? PDO::PARAM_NULL
            : (str_contains($value, "\0") ? PDO::PARAM_LOB : PDO::PARAM_STR)));
        $asked->bindValue($n + 1, $value, $kind);
    }
    $asked->execute();
    return $asked->fetchAll(PDO::FETCH_NUM);
}

function column(array $rows): array { return array_column($rows, 0); }

function code(callable $take): string
{
    try {
        $take();
    } catch (PDOException $failed) {
        return $failed->errorInfo[0];
    }
    return 'answered';
}

function value(string $type, string $text): mixed
{
    return match ($type) {
        'boolean' => true,
        'smallint', 'integer', 'bigint' => (int) $text,
        'bytea' => "\x00\x01\x02\xff",
        default => $text,
    };
}

function types(): array
{
    $got = [];
    foreach (explode("\n", env('TYPES')) as $line) {
        [$type, $statement, $text] = explode("\t", $line);
        $got[$type] = [ask($statement, value($type, $text))[0][0], ask($statement, null)[0][0]];
    }
    return $got;
}

function cursor(): array
{
    global $session;
    $session->beginTransaction();
    $session->exec('DECLARE steps CURSOR FOR ' . env('GROUPED'));
    $rows = [...ask('FETCH 2 FROM steps'), ...ask('FETCH 2 FROM steps')];
    $session->commit();
    return $rows;
}

function timeout(): string
{
    global $session;
    $session->exec("SET statement_timeout = '300ms'");
    $stopped = code(fn () => ask(env('SLOW')));
    $session->exec('RESET statement_timeout');
    return $stopped;
}

function encodings(): array
{
    global $session;
    $php = ['WIN1251' => 'Windows-1251', 'LATIN1' => 'ISO-8859-1', 'GBK' => 'GBK', 'SJIS' => 'SHIFT_JIS', 'EUC_KR' => 'EUC-KR'];
    $words = [];
    foreach (explode("\n", env('WORDS')) as $line) {
        [$name, $statement] = explode("\t", $line);
        $session->exec("SET client_encoding TO '$name'");
        $own = $php[$name] ?? 'UTF-8';
        $words[$name] = iconv($own, 'UTF-8', ask(iconv('UTF-8', $own, $statement))[0][0]);
    }
    return $words;
}

function tls(): string
{
    connect('sslmode=verify-full;channel_binding=require;sslrootcert=' . env('ROOT'))->query(WHERE);
    return 'bound';
}

$steps = [
    'connect' => fn () => ask(WHERE)[0],
    'TLS' => 'tls',
    'tables' => fn () => column(ask(env('TABLES'))),
    'columns' => fn () => column(ask(env('COLUMNS'))),
    'grouped' => fn () => ask(env('GROUPED')),
    'lists' => fn () => [ask(env('IN'), 1, 2)[0][0], ask(env('ARRAY'), '{1,2}')[0][0]],
    'types' => 'types',
    'refusal' => fn () => code(fn () => ask(env('ROWS'))) . (ask(env('GROUPED')) ? '' : 'nothing'),
    'cursor' => 'cursor',
    'cancel' => null,
    'timeout' => 'timeout',
    'encodings' => 'encodings',
];
foreach ($steps as $step => $take) {
    try {
        $told = $take === null ? ['none' => 'has no call that cancels'] : ['got' => $take()];
    } catch (Throwable $failed) {
        $told = ['failed' => (string) $failed];
    }
    echo json_encode(['step' => $step, ...$told], JSON_UNESCAPED_UNICODE | JSON_INVALID_UTF8_SUBSTITUTE), "\n";
}
