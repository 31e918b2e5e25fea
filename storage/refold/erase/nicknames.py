"""Short forms that English and German first names go by. A table, and therefore short of many: the aliases of a person add to it."""

from __future__ import annotations

_TABLE = """
alexander alexandra alexandria: alex sandy sasha xander lex alexa
alfred: alf fred freddy
andrew andreas andre: andy drew
ann anna anne anneliese annette: annie anni nan nancy
anthony anton antonia antonio: tony toni
barbara: babs barb
bartholomew: bart
beatrix beatrice: bea trixie
benjamin benedict: ben benny
bernard bernhard: bernie
catherine katharina katherine kathrin katarina katrin: kate kathi kathy katie kitty cathy kat kaethe
charles charlotte karl: charlie chuck charly lotte lottie
christian christina christine christopher christoph kristina: chris chrissy christa tina kris
daniel daniela danielle: dan danny dani
david: dave davy
deborah: debbie deb
dmitri dimitri: dima mitya
dominik dominic: dom nick
dorothea dorothy: dora dot dolly doro
edward eduard: ed eddie ted ned ede
edmund edgar edwin: ed eddie
eleonora eleanor: ellie nora nell
elisabeth elizabeth elisabetta: liz lizzie beth betty eliza elli lisa liesel sissi bess lizzy
emanuel emmanuel manuel manuela: manu
emily emilia emma: em emmy
ernest ernst: ernie
ferdinand: ferdi
francis frances francesca franziska: fran frank frankie franzi
frederick friedrich frederic: fred freddy fritz fredi
frederica friederike: frida rike freddie
gabriel gabriele gabriella: gabi gabby
george georg: georgie
gerald gerhard: gerry gerd
gertrud gertrude: trudy traudel
gregory gregor: greg
gustav: gus
harold henry heinrich harald: harry hal hank heinz heiner
helena helen helene: lena nell leni
ingrid: inga
isabella isabel isabelle: isa bella izzy
jacob jakob james: jake jim jimmy jamie
jennifer: jen jenny
jessica: jess jessie
johann johannes john jonathan jonas: jack johnny hans jon jonny hannes
joseph josef josephine: joe joey josie sepp
judith: judy
julia julian juliane: jules juli
kenneth: ken kenny
konrad conrad: conny
laurence lawrence lorenz: larry lenz
leonard leonhard leopold: leo len lenny
louis louise ludwig luise: lou louie lutz
magdalena magdalene: lena magda leni
margaret margarete margareta: maggie meg peggy greta marge gretel gitta rita
maria marie mary marianne: mia mimi molly polly mitzi
martin martina: marty tina
matthew matthias matteo: matt matze mattie
maximilian maxim: max
michael michaela michelle: mike mick micky michi mischa shelly
nathaniel nathan: nate nat
nicholas nikolaus nikolai nicola nicole: nick nico niko klaus kolya nicky
oliver olivia: ollie liv livia
pamela: pam
patrick patricia: pat paddy patty tricia trish
paula paul pauline: pauli polly
peter petra: pete
philip philipp philippa: phil pip lippo
rebecca rebekka: becky becca
regina renata: gina reni
richard: rick dick rich richie ricky
robert roberta roberto: bob rob bobby robbie bert robin
roland rolf: rolli
ronald: ron ronnie
rudolf rudolph: rudi rolf
samuel samantha: sam sammy
sebastian: basti seb
sophia sophie: sofie
stanley stanislav: stan
stephen stefan steven stephan stephanie stefanie: steve steph steffi stevie
susan susanne susanna: sue susie suzy sanni
theodor theodore theodora: theo ted teddy dora
theresa teresa therese: terry tess resi
thomas: tom tommy
timothy timotheus: tim timmy
tobias: tobi toby
ursula: uschi ulla ursel
valentin valentina: val
veronica veronika: vera ronnie vroni
victor viktor victoria viktoria: vic vicky tori
vincent: vince vinnie
vladimir: vova volodya
walter walther: walt wally
werner: wern
wilhelm william: bill will billy willy willi liam
wilhelmina wilhelmine: mina minna willa
zachary: zach zack
"""


def _read(table: str) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for line in table.strip().splitlines():
        names, short = (part.split() for part in line.split(":"))
        for name in names:
            found.setdefault(name, set()).update(short)
        for each in short:
            found.setdefault(each, set()).update(names)
    return {name: frozenset(others) for name, others in found.items()}


NICKNAMES = _read(_TABLE)  # of each name the short forms, and of each short form the names; both as they are compared
