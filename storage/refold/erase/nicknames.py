"""Short forms that first names go by in several languages, and the same names in others. In Latin letters, whatever they are written in.

A table, and therefore short of many: the aliases of a person add to it.
"""

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
adalberto alberto albert: beto berto al bert albie
adriana adrian: adri ade
agnieszka: aga agusia
alexander: aleksandr alexandr aleksander oleksandr alejandro alessandro alexandre alexandros
alexandra: aleksandra oleksandra alejandra alessandra
alejandro alejandra alessandro alessandra alexandre alexandros: alex ale sandro
aleksandr aleksander aleksandra: alex sasha sascha sacha shura sanya ola olek
aleksandar alexandru: sasha aca sandu
anastasia anastasija anastasiia: nastya nastia stasya asya
andrei andrej andrzej ondrej andres: andy andryusha jedrek
angela angelica angelina angelika: angie geli lina gela
antonina antonin antoine antoni: tonya toine antek tonda
anatoli anatolii: tolya tolik
arthur artur arturo: art artie turi
augustus august augustin agustin: gus gustl tin
boris borislav: borya
bronislaw bronislawa: bronek bronia
carmen: carmina menchu
carlos carlo carl: charly carlitos
cesar cesare: checo
concepcion: concha conchita
constantine konstantin konstantinos: kostya kostas dinos costa
cristina cristian: cris tina
dariusz daria dariia: darek dasha dasha
diego santiago: santi yago
dimitrios dimitris dmitrii dmytro: dima mitya mitsos jimmy
dolores: lola lolita
ekaterina kateryna yekaterina katarzyna: katya katia kasia kate
elena olena yelena: lena lenka alyona
enrique enrico henri henrik hendrik: quique kike rico henk rik
esteban etienne istvan: stevan pista
eugene evgeni evgenii yevgeny evgenia yevgenia eugenia: zhenya gene genie genia
evangelos: vangelis
fedor fyodor: fedya
felipe filippo filip: pipe pippo
fernando ferran: nando fer
francisco francesco francois frantisek ferenc: paco pancho cisco fran kiko checco franta feri
galina halyna: galya
george: georgios giorgos yiorgos giorgio jorge jiri jerzy georgi jordi jurgen jorgen
georgios: giorgos yiorgos yorgos giorgis
jiri jerzy: jurek jirka
gennadi gennadii: gena
giovanni giovanna: gianni vanni nanni gio
giuseppe giuseppina: beppe peppe pino peppino pina
grigori grigorii grzegorz hryhorii: grisha grzesiek grzes
guadalupe: lupe lupita
guillermo guglielmo guillaume: memo guille guy
hassan hasan: hasso
igor ihor: gosha
ignacio ignacy: nacho iggy ignas
ilya ilia elias elijah: eli ilyusha iliusha
ioannis: giannis
ioannis yiannis giannis: yannis john
irina iryna: ira irka
isaac yitzhak: ike zak
ivan yvan: vanya vanja
jacek hyacinth: jacus
jacqueline: jackie
jan janusz janos: janek jancsi jasiek
javier xavier: javi xavi
jeffrey geoffrey: jeff geoff
jesus: chuy chus suso
joaquin joachim: quino achim jochen
jose josep jozef jozsef josip: pepe pepito chepe jozek joska joso joseph sepp
juan joao: juanito juancho joaozinho
karoline carolina caroline karolina: caro carrie line karo lina
katerina: katja katka rina
krzysztof krystyna: krzys krzysiek krysia
ksenia xenia oksana: ksyusha
larisa larysa: lara
leonid leonidas: lyonya leo
lyudmila ludmila liudmila: lyuda mila luda
lyubov liubov: lyuba
malgorzata malgosia: gosia gosha gosiek gocha
manuel manolis emmanouil: manolo lolo manolito
marcin marcus markus marco marek: marc mark marcel
margarita margarida: rita marga margo
mariana marian mariya mariia marija: masha mariia marusya maja
marie-louise: malou
matthijs mateusz matej mateo: thijs mateusz mati teo
mehmet: memo
mercedes: merche meche
miguel michel michal mihail mikhail mykhailo mikael mihaly: misha micha miki migue micke mischa misi
mohammed muhammad mohamed mohammad muhammed mahomed mohamad: mo hamo mehmet hammad
nadezhda nadiia: nadya nadia
natalia nataliya nathalie natalya nataliia: natasha nata nati tasha nat
nikolay mykola nikola nikolaos niccolo: kolya nikos mykolka nicco
oleksandr oleksandra: sasha sashko olesya lesya
oleksiy oleksii aleksei alexei alexey aleksey alexis: alyosha lyosha lesha alex
olga olha: olya olka
pavel pavlo pawel pablo paolo paulo: pasha pavlik pawelek pablito
pedro pietro pierre pieter piotr petr pyotr petro petros: peter petya piet pieterjan petar perico piotrek pete
pilar: pili
rafael raphael raffaele rafal: rafa rafe raffi
ramon raymond raimund: moncho ray
ricardo riccardo: rick richie rici
roman romana: roma
rosario: charo
salvatore salvador: toto salva turi
sergei sergey serhii sergio serge: seryozha serhiy serezha checho serega
semyon simon shimon simeon: syoma sima si
slawomir: slawek
stanislaw stanislava: stas stasiek staszek
svetlana svitlana: sveta lana
tadeusz thaddeus: tadek thad tad
tatiana tatyana tetiana: tanya tania tana
tomas tomasz tommaso: tomek tommy masino
vasili vasily vassilis vasyl: vasya vasilis bill
valeri valery valerie valeria valerii: valera val lera
viacheslav vyacheslav: slava
vadim vadym: vadik
vsevolod: seva
willem guilherme: wim pim willem
wojciech: wojtek
yaroslav jaroslav jaroslaw: slava jarek jarda
yuri yurii jurij iurii: yura yurik jura
yulia yuliia iuliia: yulya julia
zbigniew: zbyszek
zoltan: zoli
zuzanna zuzana: zuzia zuzka
"""


# One name in several spellings that are further apart than a slip of the pen.
_SAME = """
mohammed muhammad mohamed mohammad muhammed mahomed mohamad
aleksandr alexander aleksander alexandr oleksandr
georgios giorgos yiorgos
ioannis yannis giannis yiannis
catherine katherine kathryn katarina katharina catarina
stephen stefan steven stephan stepan
yusuf yousef youssef josef yosef
abdullah abdallah abdoullah
hussein husain hosseini huseyin hossein
ibrahim ebrahim abraham
omar umar oumar
aisha ayesha aicha
fatima fatma fatemeh
yevgeny evgeni eugene evgenii
"""


def _read(table: str) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for line in table.strip().splitlines():
        names, short = (part.split() for part in line.split(":"))
        for name in names:
            found.setdefault(name, set()).update(short)
        for each in short:
            found.setdefault(each, set()).update(names)
    for names in map(str.split, _SAME.strip().splitlines()):
        for name in names:
            found.setdefault(name, set()).update(set(names) - {name})
    return {name: frozenset(others | {other.replace("y", "i") for other in others}) for name, others in found.items()}


NICKNAMES = _read(_TABLE)  # of each name the short forms, and of each short form the names; both as they are compared
