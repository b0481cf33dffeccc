# DBD::Pg: prepared on the server, arrays of its own, asynchronous statements that can be cancelled.
use strict;
use warnings;
use utf8;
use DBI;
use DBD::Pg qw(:async :pg_types);
use Encode qw(decode encode);
use JSON::PP;
use Time::HiRes qw(sleep);

my $json = JSON::PP->new->canonical->utf8;
sub env { return $ENV{"ASK_$_[0]"} }

sub session {
    my $where = join ';', 'host=' . env('HOST'), 'port=' . env('PORT'), 'dbname=' . env('DATABASE'), @_;
    return DBI->connect("dbi:Pg:$where", env('USER'), env('PASSWORD'), { RaiseError => 1, PrintError => 0 });
}

my $session = session('sslmode=require');

sub ask {
    my ($statement, @values) = @_;
    my $asked = $session->prepare($statement);
    for my $n (0 .. $#values) {
        my $bytes = defined $values[$n] && $values[$n] =~ /\0/;
        $asked->bind_param($n + 1, $values[$n], $bytes ? { pg_type => PG_BYTEA } : undef);
    }
    $asked->execute;
    return $asked->fetchall_arrayref;
}

sub column { return [map { $_->[0] } @{ ask($_[0]) }] }

sub code {
    my ($take) = @_;
    return eval { $take->(); 1 } ? 'answered' : $session->state;
}

sub types {
    my %got;
    for my $line (split /\n/, env('TYPES')) {
        my ($type, $statement, $text) = split /\t/, $line;
        my $value = $type eq 'bytea' ? "\x00\x01\x02\xff" : $type eq 'integer[]' ? [1, 2] : $text;
        $got{$type} = [ask($statement, $value)->[0][0], ask($statement, undef)->[0][0]];
    }
    return \%got;
}

sub cursor {
    $session->begin_work;
    $session->do('DECLARE steps CURSOR FOR ' . env('GROUPED'));
    my @rows = map { @{ ask('FETCH 2 FROM steps') } } 1 .. 2;
    $session->commit;
    return \@rows;
}

sub cancel {
    my $asked = $session->prepare(env('SLOW'), { pg_async => PG_ASYNC });
    $asked->execute;
    sleep 0.4;
    return 'answered' if $session->pg_ready;
    my $stopped = code(sub { $session->pg_cancel or die 'not cancelled' });
    ask('SELECT 1');
    return $stopped eq 'answered' ? 'stopped' : $stopped;
}

sub timeout {
    $session->do("SET statement_timeout = '300ms'");
    my $stopped = code(sub { ask(env('SLOW')) });
    $session->do('RESET statement_timeout');
    return $stopped;
}

sub encodings {
    my %perl = (WIN1251 => 'cp1251', LATIN1 => 'latin1', GBK => 'gbk', SJIS => 'cp932', EUC_KR => 'euc-kr');
    my %words;
    $session->{pg_enable_utf8} = 0;
    for my $line (split /\n/, decode('UTF-8', env('WORDS'))) {
        my ($name, $statement) = split /\t/, $line;
        $session->do("SET client_encoding TO '$name'");
        my $own = $perl{$name} // 'UTF-8';
        $words{$name} = decode($own, ask(encode($own, $statement))->[0][0]);
    }
    return \%words;
}

sub tls {
    session('sslmode=verify-full', 'channel_binding=require', 'sslrootcert=' . env('ROOT'))->do(env('GROUPED'));
    return 'bound';
}

my @steps = (
    [connect => sub { ask('SELECT current_user, current_database()')->[0] }],
    [TLS => \&tls],
    [tables => sub { [sort map { s/^public\.//r } $session->tables(undef, 'public', '%', 'TABLE')] }],
    [columns => sub { [map { $_->[3] } @{ $session->column_info(undef, 'public', 'trips', '%')->fetchall_arrayref }] }],
    [grouped => sub { ask(env('GROUPED')) }],
    [lists => sub { [ask(env('IN'), 1, 2)->[0][0], ask(env('ARRAY'), [1, 2])->[0][0]] }],
    [types => \&types],
    [refusal => sub { my $refused = code(sub { ask(env('ROWS')) }); ask(env('GROUPED')); $refused }],
    [cursor => \&cursor],
    [cancel => \&cancel],
    [timeout => \&timeout],
    [encodings => \&encodings],
);
$| = 1;
for my $step (@steps) {
    my ($name, $take) = @$step;
    my $got = eval { $take->() };
    print $json->encode({ step => $name, $@ ? (failed => "$@") : (got => $got) }), "\n";
}
